/** One step in the list: what it is, why, and what can be done with it. */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { whyNotDecide } from './can';
import { SHAPES, resumeIcon } from './icons';
import type { Running } from './live';
import type { State, StepView } from './runview';
import { age, called, duration, elapsed, size, word } from './words';

/** What a click on a step asks for. */
export interface StepActions {
  readonly goTo: (step: StepView) => void;
  readonly decide: (step: StepView) => void;
  readonly resume: () => void;
  /** Open the menu of a step below the button that was pressed. */
  readonly menu: (step: StepView, button: HTMLElement) => void;
}

export interface StepProps {
  readonly step: StepView;
  readonly isResumePoint: boolean;
  readonly now: Date;
  /** What the kernel says it is running. */
  readonly running: Running | null;
  /** Why the run cannot go on now; empty if it can. */
  readonly whyNotResume: string;
  readonly actions: StepActions;
  readonly trans: TranslationBundle;
}

const TICK_MS = 1000;

/** Return the state of a step; the kernel knows first that it runs. */
export function stateOf(step: StepView, running: Running | null): State {
  return running?.step === step.name ? 'RUNNING' : step.state;
}

/** A step. */
export function Step(props: StepProps): JSX.Element {
  const { step, isResumePoint, running, actions, trans } = props;
  const state = stateOf(step, running);
  return (
    <div className="jp-nbresume-step">
      {isResumePoint && <Here {...props} />}
      <div className="jp-nbresume-stepHead">
        <Shape state={state} />
        <button
          className="jp-nbresume-name"
          title={
            step.place < 0
              ? trans.__('The cell of step %1 is gone', whole(step))
              : trans.__('Go to the cell of step %1', whole(step))
          }
          aria-disabled={step.place < 0}
          onClick={() => actions.goTo(step)}
        >
          {called(step)}
        </button>
        <span className="jp-nbresume-word">{word(state, trans)}</span>
        <button
          className="jp-nbresume-plain"
          title={trans.__('What can be done with step %1', step.name)}
          aria-label={trans.__('More')}
          aria-haspopup="menu"
          onClick={event => actions.menu(step, event.currentTarget)}
        >
          ⋯
        </button>
      </div>
      <Facts {...props} />
      <Far {...props} />
      <Notes {...props} />
    </div>
  );
}

/** The name, and all of the first words, which the row may cut. */
function whole({ name, title }: StepView): string {
  return title === '' ? name : `${name} (${title})`;
}

/** The icon of a state, drawn for a row at a time: a LabIcon parses its text each time. */
function Shape({ state }: { readonly state: State }): JSX.Element {
  return (
    <svg
      className="jp-nbresume-icon"
      width="14"
      height="14"
      viewBox="0 0 16 16"
      aria-hidden="true"
    >
      <path className="jp-icon3" fill="#616161" fillRule="evenodd" d={SHAPES[state]} />
    </svg>
  );
}

/** The line that sets the resume point apart. */
function Here(props: StepProps): JSX.Element {
  const { step, whyNotResume, actions, trans } = props;
  return (
    <div className="jp-nbresume-here">
      <resumeIcon.react tag="span" width="14px" height="14px" aria-hidden="true" />
      {step.plan === 'refused' ? trans.__('Stopped here') : trans.__('Goes on here')}
      <Decide {...props} />
      {step.plan === 'rerun' && (
        <button
          className="jp-mod-styled jp-mod-accept"
          title={
            whyNotResume === ''
              ? trans.__(
                  'Bind what the committed steps made, and run every cell below them'
                )
              : whyNotResume
          }
          aria-disabled={whyNotResume !== ''}
          onClick={actions.resume}
        >
          {trans.__('Resume')}
        </button>
      )}
    </div>
  );
}

/** The way to the dialog, if there is something to decide. */
function Decide({
  step,
  isResumePoint,
  actions,
  trans
}: StepProps): JSX.Element | null {
  if (whyNotDecide(step, trans) !== '') {
    return null;
  }
  return (
    <button
      className={
        isResumePoint && step.plan === 'refused'
          ? 'jp-mod-styled jp-mod-accept'
          : 'jp-mod-styled'
      }
      aria-haspopup="dialog"
      title={trans.__('Say what is to be done with step %1', step.name)}
      onClick={() => actions.decide(step)}
    >
      {trans.__('Decide …')}
    </button>
  );
}

/** How long it took or has been running, how much it stored, how old that is. */
function Facts({ step, now, running, trans }: StepProps): JSX.Element | null {
  const facts: string[] = [];
  if (step.durationS !== null) {
    facts.push(trans.__('took %1', duration(step.durationS, trans)));
  }
  if (step.committedAt !== null) {
    facts.push(size(step.payloadBytes), age(step.committedAt, now, trans));
  }
  if (step.attempts > 1) {
    facts.push(trans.__('%1 attempts', String(step.attempts)));
  }
  const since = sinceOf(step, running);
  if (facts.length === 0 && since === null) {
    return null;
  }
  const at =
    step.committedAt === null ? '' : new Date(step.committedAt).toLocaleString();
  return (
    <div className="jp-nbresume-facts" title={at}>
      {since !== null && <Since at={since} trans={trans} />}
      {since !== null && facts.length > 0 && ' · '}
      {facts.join(' · ')}
    </div>
  );
}

/** Return when a running step began; the page's clock is better than the kernel's. */
function sinceOf(step: StepView, running: Running | null): number | null {
  if (running?.step === step.name) {
    return running.sinceMs;
  }
  return step.state === 'RUNNING' && step.startedAt !== null
    ? Date.parse(step.startedAt)
    : null;
}

/** How long a step has been running, second by second. */
function Since({
  at,
  trans
}: {
  readonly at: number;
  readonly trans: TranslationBundle;
}): JSX.Element {
  const [now, setNow] = React.useState(() => new Date());
  React.useEffect(() => {
    const clock = setInterval(() => setNow(new Date()), TICK_MS);
    return () => clearInterval(clock);
  }, []);
  return (
    <span role="timer">{trans.__('running for %1', elapsed(at, now, trans))}</span>
  );
}

/** How far its loop has come, if it is running or was cut off. */
function Far({ step, running, trans }: StepProps): JSX.Element | null {
  const far = (running?.step === step.name ? running.progress : null) ?? step.progress;
  if (far === null) {
    return null;
  }
  return (
    <div className="jp-nbresume-far">
      {far.total > 0 && (
        <progress
          value={far.position}
          max={far.total}
          aria-label={trans.__('Progress of step %1', called(step))}
        />
      )}
      {far.text}
    </div>
  );
}

/** What it lacks, why it is stale or in doubt, and what to do. */
function Notes(props: StepProps): JSX.Element | null {
  const { step, isResumePoint, trans } = props;
  const notes = [...step.reasons];
  for (const [name, why] of Object.entries(step.notKept)) {
    notes.push(trans.__('without %1: %2', name, why));
  }
  if (step.effectCount > 0) {
    notes.push(trans._n('%1 effect done', '%1 effects done', step.effectCount));
  }
  for (const key of step.openEffects) {
    notes.push(trans.__('effect %1 may or may not have happened', key));
  }
  if (notes.length === 0 && step.remedy === '') {
    return null;
  }
  return (
    <ul className="jp-nbresume-notes">
      {notes.map(note => (
        <li key={note}>{note}</li>
      ))}
      {step.remedy !== '' && (
        <li>
          {!isResumePoint && <Decide {...props} />} {trans.__('to go on, type')}{' '}
          <code>{step.remedy}</code>
        </li>
      )}
    </ul>
  );
}
