/**
 * The dialog for a step that somebody has to decide about.
 *
 * The rule: it never chooses. Nothing is preselected, and it closes only when the
 * server has recorded the decision or the person goes away.
 */

import { Dialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { Decision, Draft, Lack } from './decision';
import { EMPTY, asksFor, decisionOf } from './decision';
import type { Refusal, StepView } from './runview';

/** Send a decision; null: it is recorded. */
export type Settle = (decision: Decision) => Promise<Refusal | null>;

/** Ask about a step until it is decided, or left alone. */
export async function askAbout(
  step: StepView,
  settle: Settle,
  trans: TranslationBundle
): Promise<void> {
  await new DoubtDialog(new DoubtForm(step, trans), settle).launch();
}

class DoubtDialog extends Dialog<null> {
  constructor(
    private readonly form: DoubtForm,
    private readonly settle: Settle
  ) {
    const { step, trans } = form;
    super({
      title: trans.__('Decide about step %1', step.name),
      body: form,
      buttons: [
        Dialog.cancelButton({ label: trans.__('Cancel') }),
        Dialog.okButton({ label: trans.__('Decide') })
      ],
      focusNodeSelector: 'input'
    });
    this.addClass('jp-nbresume-doubt');
    this.node.ariaLabel = trans.__('Decide about step %1', step.name);
  }

  /** Whatever would accept the dialog sends the form first. */
  resolve(index?: number): void {
    if (index === 0) {
      super.resolve(0);
    } else {
      void this.send();
    }
  }

  private async send(): Promise<void> {
    const decision = this.isSending ? null : this.form.read();
    if (decision === null) {
      return;
    }
    this.isSending = true;
    const refusal = await this.settle(decision);
    this.isSending = false;
    if (refusal === null) {
      super.resolve(1);
    } else {
      this.form.refuse(refusal);
    }
  }

  private isSending = false;
}

/** What is seen and filled in. */
class DoubtForm extends ReactWidget implements Dialog.IBodyWidget<null> {
  constructor(
    readonly step: StepView,
    readonly trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-nbresume-form');
  }

  /** Return what was filled in; null, and the person is told, if something lacks. */
  read(): Decision | null {
    const found = decisionOf(this.draft, this.step.name);
    if ('field' in found) {
      this.say([lackOf(found, this.trans)]);
      this.node.querySelector<HTMLElement>(`[name="${found.field}"]`)?.focus();
      return null;
    }
    return found;
  }

  /** Show why the server refused; what was filled in stays. */
  refuse({ message, because, remedy }: Refusal): void {
    this.say([because === '' ? message : `${message}: ${because}.`, remedy]);
  }

  protected render(): JSX.Element {
    return (
      <Form
        step={this.step}
        trans={this.trans}
        told={this.told}
        keep={draft => {
          this.draft = draft;
        }}
      />
    );
  }

  private say(told: readonly string[]): void {
    this.told = told;
    this.update();
  }

  private draft = EMPTY;
  private told: readonly string[] = [];
}

interface FormProps {
  readonly step: StepView;
  readonly trans: TranslationBundle;
  readonly told: readonly string[];
  readonly keep: (draft: Draft) => void;
}

/** The state is React's, so that a caret stays where it is. */
function Form({ step, trans, told, keep }: FormProps): JSX.Element {
  const [draft, setDraft] = React.useState(EMPTY);
  const change = (part: Partial<Draft>): void => {
    const next = { ...draft, ...part };
    setDraft(next);
    keep(next);
  };
  const fields = { step, trans, draft, change };
  return (
    <>
      <Seen step={step} trans={trans} />
      <Ways {...fields} />
      <Evidence {...fields} />
      <label className="jp-nbresume-field">
        {trans.__('Reason, kept in the history of the run')}
        <textarea
          name="because"
          aria-required="true"
          rows={2}
          value={draft.because}
          onChange={event => change({ because: event.target.value })}
        />
      </label>
      <div className="jp-nbresume-refused" role="alert">
        {told.map(sentence => (
          <p key={sentence}>{sentence}</p>
        ))}
      </div>
    </>
  );
}

interface FieldProps {
  readonly step: StepView;
  readonly trans: TranslationBundle;
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
}

/** Why a person is asked, and what was seen of the outside. */
function Seen({ step, trans }: Pick<FieldProps, 'step' | 'trans'>): JSX.Element {
  const open = step.openEffects.map(key =>
    trans.__('effect %1 may or may not have happened', key)
  );
  const known = [...new Set([...step.reasons, ...step.evidence, ...open])];
  return (
    <section>
      <h3>{trans.__('What is known')}</h3>
      <ul>
        {known.map(line => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </section>
  );
}

/** The ways out; one that is typed into the notebook can be read here only. */
function Ways({ step, trans, draft, change }: FieldProps): JSX.Element {
  const here = step.ways.filter(({ how }) => how !== '');
  const typed = step.ways.filter(({ how }) => how === '');
  return (
    <>
      <fieldset role="radiogroup" aria-required="true">
        <legend>{trans.__('What is to be done')}</legend>
        {here.map((way, place) => (
          <label className="jp-nbresume-way" key={way.command}>
            <input
              type="radio"
              name="way"
              aria-labelledby={`jp-nbresume-way-${place}`}
              aria-describedby={`jp-nbresume-means-${place}`}
              checked={draft.way === way}
              onChange={() => change({ way })}
            />
            <span>
              <b id={`jp-nbresume-way-${place}`}>
                {way.effect === '' ? way.how : `${way.how}: ${way.effect}`}
              </b>{' '}
              <span id={`jp-nbresume-means-${place}`}>{way.text}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {typed.map(({ command, text }) => (
        <p key={command}>
          {trans.__('Or type into the notebook:')} <code>{command}</code> {text}
        </p>
      ))}
    </>
  );
}

/** What happened outside, as far as the person knows it. */
function Evidence({ trans, draft, change }: FieldProps): JSX.Element | null {
  switch (asksFor(draft.way)) {
    case 'nothing':
      return null;
    case 'result':
      return (
        <label className="jp-nbresume-field">
          {trans.__('Its result, a Python literal; empty if it is not known')}
          <input
            type="text"
            name="result"
            value={draft.result}
            onChange={event => change({ result: event.target.value })}
          />
        </label>
      );
    case 'values':
      return (
        <label className="jp-nbresume-field">
          {trans.__('Values that the step would have set, as far as they are known')}
          <textarea
            name="values"
            rows={3}
            placeholder={"receipt = 'ch_17'"}
            value={draft.values}
            onChange={event => change({ values: event.target.value })}
          />
          <small>
            {trans.__(
              'NAME = VALUE, one on a line; a value is a Python literal. Names left out count as not kept.'
            )}
          </small>
        </label>
      );
  }
}

function lackOf(lack: Lack, trans: TranslationBundle): string {
  switch (lack.field) {
    case 'way':
      return trans.__('Choose what is to be done.');
    case 'values':
      return trans.__('This is no NAME = VALUE: %1', lack.line);
    case 'because':
      return trans.__('Give a reason.');
  }
}
