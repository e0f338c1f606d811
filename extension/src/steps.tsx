/** The list of steps. */

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
  readonly inquiry: Inquiry;
  readonly sanitize: (html: string) => string;
}

/** The steps in notebook order; those whose cell is gone stand apart. */
export function Steps({ view, inquiry, sanitize, ...rest }: StepsProps): JSX.Element {
  const { trans } = rest;
  const placed = view.steps.filter(step => step.place >= 0);
  const gone = view.steps.filter(step => step.place < 0);
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
