/** The list of steps: what each one is, and why. */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { resumeIcon, stateIcons } from './icons';
import type { RunView, StepView } from './runview';
import { age, duration, size, tone, word } from './words';

/** What a click on a step asks for. */
export type GoTo = (step: StepView) => void;

interface StepProps {
  readonly step: StepView;
  readonly isResumePoint: boolean;
  readonly now: Date;
  readonly canResume: boolean;
  readonly resume: () => void;
  readonly goTo: GoTo;
  readonly trans: TranslationBundle;
}

interface StepsProps extends Omit<StepProps, 'step' | 'isResumePoint'> {
  readonly view: RunView;
}

/** The steps in notebook order; those whose cell is gone stand apart. */
export function Steps({ view, ...rest }: StepsProps): JSX.Element {
  const { trans } = rest;
  const placed = view.steps.filter(step => step.place >= 0);
  const gone = view.steps.filter(step => step.place < 0);
  const row = (step: StepView): JSX.Element => (
    <Step
      key={step.name}
      step={step}
      isResumePoint={step.name === view.resumeFrom}
      {...rest}
    />
  );
  return (
    <>
      <ol
        className="jp-nbresume-steps"
        aria-label={trans.__('Steps in the order of the notebook')}
      >
        {placed.map(row)}
      </ol>
      {gone.length > 0 && (
        <>
          <h3>{trans.__('No longer in the notebook')}</h3>
          <ol
            className="jp-nbresume-steps"
            aria-label={trans.__('Steps whose cell is gone')}
          >
            {gone.map(row)}
          </ol>
        </>
      )}
    </>
  );
}

function Step(props: StepProps): JSX.Element {
  const { step, isResumePoint, canResume, resume, goTo, trans } = props;
  const Icon = stateIcons[step.state];
  return (
    <li
      className="jp-nbresume-step"
      aria-current={isResumePoint ? 'step' : undefined}
      data-state={step.state}
      data-step={step.name}
      data-tone={tone(step.state)}
    >
      {isResumePoint && (
        <div className="jp-nbresume-here">
          <resumeIcon.react tag="span" width="14px" height="14px" aria-hidden="true" />
          {step.plan === 'refused'
            ? trans.__('Stopped here')
            : trans.__('Goes on here')}
          {step.plan === 'rerun' && (
            <button
              className="jp-nbresume-resume jp-mod-styled jp-mod-accept"
              title={trans.__(
                'Bind what the committed steps made, and run every cell below them'
              )}
              disabled={!canResume}
              onClick={resume}
            >
              {trans.__('Resume')}
            </button>
          )}
        </div>
      )}
      <div className="jp-nbresume-stepHead">
        <Icon.react
          tag="span"
          className="jp-nbresume-icon"
          width="14px"
          height="14px"
          aria-hidden="true"
        />
        <button
          className="jp-nbresume-name"
          title={trans.__('Go to the cell of step %1', step.name)}
          disabled={step.place < 0}
          onClick={() => goTo(step)}
        >
          {step.name}
        </button>
        <span className="jp-nbresume-word">{word(step.state, trans)}</span>
      </div>
      <Facts {...props} />
      <Notes step={step} trans={trans} />
    </li>
  );
}

/** How long it took, how much it stored, how old that is. */
function Facts({ step, now, trans }: StepProps): JSX.Element | null {
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
  if (facts.length === 0) {
    return null;
  }
  const at =
    step.committedAt === null ? '' : new Date(step.committedAt).toLocaleString();
  return (
    <div className="jp-nbresume-facts" title={at}>
      {facts.join(' · ')}
    </div>
  );
}

/** What it lacks, why it is stale or in doubt, and what to type. */
function Notes({ step, trans }: Pick<StepProps, 'step' | 'trans'>): JSX.Element | null {
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
          {trans.__('to go on, type')} <code>{step.remedy}</code>
        </li>
      )}
    </ul>
  );
}
