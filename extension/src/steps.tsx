/** The list of steps. */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { Details } from './details';
import type { Inquiry } from './inquiry';
import { LongList } from './list';
import type { RunView, StepView } from './runview';
import type { StepProps } from './step';
import { Step, stateOf } from './step';
import { tone } from './words';

interface StepsProps extends Omit<StepProps, 'step' | 'isResumePoint'> {
  readonly view: RunView;
  /** Steps of the notebook as it is open. */
  readonly openSteps: ReadonlySet<string>;
  readonly inquiry: Inquiry;
  readonly sanitize: (html: string) => string;
}

/** The steps in notebook order; those whose cell is gone stand apart. */
export function Steps(props: StepsProps): JSX.Element {
  const { view, openSteps, inquiry, sanitize, ...rest } = props;
  const { trans } = rest;
  const placed = view.steps.filter(step => step.place >= 0);
  const others = view.steps.filter(step => step.place < 0);
  const unsaved = others.filter(({ name }) => openSteps.has(name));
  const gone = others.filter(({ name }) => !openSteps.has(name));
  const { question } = inquiry;
  const list = {
    className: 'jp-nbresume-steps',
    keyOf: ({ name }: StepView) => name,
    attributes: (step: StepView) => ({
      'aria-current': step.name === view.resumeFrom ? ('step' as const) : undefined,
      'data-state': stateOf(step, rest.running),
      'data-step': step.name,
      'data-tone': tone(stateOf(step, rest.running))
    }),
    row: (step: StepView) => (
      <>
        <Step step={step} isResumePoint={step.name === view.resumeFrom} {...rest} />
        {question !== null && 'step' in question && question.step === step.name && (
          <Details inquiry={inquiry} sanitize={sanitize} trans={trans} />
        )}
      </>
    )
  };
  return (
    <>
      <LongList
        {...list}
        items={placed}
        label={trans.__('Steps in the order of the notebook')}
        reveal={view.resumeFrom}
      />
      {unsaved.length > 0 && (
        <>
          <h3>{trans.__('Not in the saved notebook yet')}</h3>
          <LongList
            {...list}
            items={unsaved.map(step => asOpen(step, trans))}
            label={trans.__('Steps whose cell is not saved yet')}
          />
        </>
      )}
      {gone.length > 0 && (
        <>
          <h3>{trans.__('No longer in the notebook')}</h3>
          <LongList
            {...list}
            items={gone}
            label={trans.__('Steps whose cell is gone')}
          />
        </>
      )}
    </>
  );
}

/** Return a step whose cell is in the notebook as it is open, and in no file yet. */
function asOpen(step: StepView, trans: TranslationBundle): StepView {
  const why = trans.__('its place is known when the notebook is saved');
  return step.state === 'ORPHANED'
    ? { ...step, state: 'COMMITTED', place: 0, reasons: [why] }
    : { ...step, place: 0 };
}
