/**
 * The dialog for a step that somebody has to decide about.
 *
 * The rule: it never chooses. Nothing is preselected, and it closes only when the
 * server has recorded the decision or the person goes away. What was filled in by then
 * is kept for the next time.
 */

import { Dialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { Decision, Draft, Lack } from './decision';
import { EMPTY, decisionOf, isEmpty } from './decision';
import { More } from './evidence';
import type { Refusal, StepView } from './runview';

/** Send a decision; null: it is recorded. */
export type Settle = (decision: Decision) => Promise<Refusal | null>;

/** What is asked, and of what it is made. */
export interface Question {
  readonly step: StepView;
  readonly title: string;
  /** What the button says that records the decision. */
  readonly accept: string;
  /** What was filled in before. */
  readonly draft: Draft;
  /** Take what is filled in, with each change. */
  readonly keep: (draft: Draft) => void;
  readonly trans: TranslationBundle;
}

/** Ask about a step until it is decided, or left alone; return whether it is decided. */
export async function askAbout(question: Question, settle: Settle): Promise<boolean> {
  const dialog = new DoubtDialog(question, new DoubtForm(question), settle);
  return (await dialog.launch()).button.accept;
}

class DoubtDialog extends Dialog<null> {
  constructor(
    private readonly question: Question,
    private readonly form: DoubtForm,
    private readonly settle: Settle
  ) {
    const { title, accept, trans } = question;
    super({
      title,
      body: form,
      buttons: [
        Dialog.cancelButton({ label: trans.__('Cancel') }),
        Dialog.okButton({ label: accept })
      ],
      focusNodeSelector: 'input, textarea'
    });
    this.addClass('jp-nbresume-doubt');
    this.node.ariaLabel = title;
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
      this.question.keep(EMPTY);
      super.resolve(1);
    } else {
      this.form.refuse(refusal);
    }
  }

  private isSending = false;
}

/** What is seen and filled in. */
class DoubtForm extends ReactWidget implements Dialog.IBodyWidget<null> {
  constructor(private readonly question: Question) {
    super();
    this.draft = question.draft;
    this.addClass('jp-nbresume-form');
  }

  /** Return what was filled in; null, and the person is told, if something lacks. */
  read(): Decision | null {
    const { step, trans } = this.question;
    const found = decisionOf(this.draft, step.name);
    if ('field' in found) {
      this.say([lackOf(found, trans)]);
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
    const { question, told } = this;
    return (
      <Form
        question={question}
        told={told}
        keep={draft => {
          this.draft = draft;
          question.keep(draft);
        }}
      />
    );
  }

  private say(told: readonly string[]): void {
    this.told = told;
    this.update();
  }

  private draft: Draft;
  private told: readonly string[] = [];
}

interface FormProps {
  readonly question: Question;
  readonly told: readonly string[];
  readonly keep: (draft: Draft) => void;
}

/** The state is React's, so that a caret stays where it is. */
function Form({ question, told, keep }: FormProps): JSX.Element {
  const { step, trans } = question;
  const [draft, setDraft] = React.useState(question.draft);
  const change = (part: Partial<Draft>): void => {
    const next = { ...draft, ...part };
    setDraft(next);
    keep(next);
  };
  const fields = { step, trans, draft, change };
  return (
    <>
      {!isEmpty(question.draft) && (
        <p className="jp-nbresume-kept" role="status">
          {trans.__(
            'What you filled in before is still here; nothing of it was recorded.'
          )}
        </p>
      )}
      <Seen step={step} trans={trans} />
      <Ways {...fields} />
      <More {...fields} />
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
function Seen({ step, trans }: Pick<FieldProps, 'step' | 'trans'>): JSX.Element | null {
  const open = step.openEffects.map(key =>
    trans.__('effect %1 may or may not have happened', key)
  );
  const known = [...new Set([...step.reasons, ...step.evidence, ...open])];
  if (known.length === 0) {
    return null;
  }
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
