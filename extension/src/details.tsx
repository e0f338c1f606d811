/**
 * The answer to what somebody asked: the plan, an explanation, what a step stored.
 *
 * The rule: it shows what the server said, in its words, and asks for nothing.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import { closeIcon } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { Inquiry, Question, Reply } from './inquiry';
import { Stored } from './inspected';
import type { Cue, Explained, PlanView, Verdict } from './runview';
import { sentences } from './sentences';
import { called, duration } from './words';

/** So many characters of a version are shown. */
const SHORT = 16;

interface DetailsProps {
  readonly inquiry: Inquiry;
  readonly sanitize: (html: string) => string;
  readonly trans: TranslationBundle;
}

/** What was asked, and the answer to it. */
export function Details({ inquiry, sanitize, trans }: DetailsProps): JSX.Element {
  const { question, reply } = inquiry;
  const title = question === null ? '' : titleOf(question, trans);
  return (
    <section className="jp-nbresume-details" aria-label={title} tabIndex={-1}>
      <header className="jp-nbresume-head">
        <h3>{title}</h3>
        <button
          className="jp-nbresume-plain"
          title={trans.__('Close')}
          aria-label={trans.__('Close')}
          onClick={() => inquiry.close()}
        >
          <closeIcon.react tag="span" width="16px" height="16px" aria-hidden="true" />
        </button>
      </header>
      <div aria-live="polite" aria-busy={reply === null}>
        {reply === null ? (
          trans.__('Asking the server …')
        ) : (
          <Answer reply={reply} sanitize={sanitize} trans={trans} />
        )}
      </div>
    </section>
  );
}

function titleOf(question: Question, trans: TranslationBundle): string {
  switch (question.kind) {
    case 'plan':
      return trans.__('What running all cells would do');
    case 'explain':
      return trans.__('Why step %1 would run, or not', question.step);
    case 'inspect':
      return trans.__('What step %1 stored', question.step);
  }
}

interface AnswerProps extends Omit<DetailsProps, 'inquiry'> {
  readonly reply: Reply;
}

function Answer({ reply, sanitize, trans }: AnswerProps): JSX.Element {
  switch (reply.kind) {
    case 'plan':
      return <Plan plan={reply.told} trans={trans} />;
    case 'explain':
      return <Why explained={reply.told} trans={trans} />;
    case 'inspect':
      return <Stored details={reply.told} sanitize={sanitize} trans={trans} />;
    case 'failed':
      return (
        <>
          {sentences(reply.failure, trans).map(sentence => (
            <p key={sentence}>{sentence}</p>
          ))}
        </>
      );
  }
}

interface Said {
  readonly trans: TranslationBundle;
}

function Plan({ plan, trans }: Said & { readonly plan: PlanView }): JSX.Element {
  return (
    <>
      <p>{plan.headline}</p>
      {plan.differs.map(line => (
        <p key={line}>{line}</p>
      ))}
      <Table
        heads={[trans.__('Step'), trans.__('Plan'), trans.__('Why')]}
        rows={plan.steps.map(({ step, title, verdict, durationS, why }) => [
          <b key="step">{called({ name: step, title })}</b>,
          <>
            {verdictOf(verdict, trans)}
            {durationS !== null && (
              <div className="jp-nbresume-quiet">
                {trans.__('took %1', duration(durationS, trans))}
              </div>
            )}
          </>,
          why
        ])}
      />
    </>
  );
}

function Why({
  explained,
  trans
}: Said & { readonly explained: Explained }): JSX.Element {
  return (
    <>
      <p>{explained.sentence}</p>
      <Table
        heads={[trans.__('Depends on'), trans.__('Then and now')]}
        rows={explained.cues.map(cue => [
          cue.cue,
          <Was key="was" cue={cue} trans={trans} />
        ])}
      />
      {explained.cues.map(
        ({ cue, diff }) =>
          diff.length > 0 && <Diff key={cue} of={cue} lines={diff} trans={trans} />
      )}
      {explained.ways.map(({ command, text }) => (
        <p key={command}>
          <code>{command}</code> {text}
        </p>
      ))}
    </>
  );
}

/** Whether it changed, and what it was and is: as people know it, else its version. */
function Was({ cue, trans }: Said & { readonly cue: Cue }): JSX.Element {
  const { isChanged, diff, text } = cue;
  const brief = (shown: string, version: string): string =>
    shown || version.slice(0, SHORT) || trans.__('nothing');
  return (
    <>
      {text}
      {isChanged === true && diff.length === 0 && (
        <div>
          <code title={cue.then}>{brief(cue.thenShown, cue.then)}</code> →{' '}
          <code title={cue.now}>{brief(cue.nowShown, cue.now)}</code>
        </div>
      )}
    </>
  );
}

interface DiffProps extends Said {
  readonly of: string;
  readonly lines: readonly string[];
}

/** What was edited, line by line; the sign before a line says it beside the color. */
function Diff({ of, lines, trans }: DiffProps): JSX.Element {
  return (
    <pre
      className="jp-nbresume-diff"
      aria-label={trans.__('What changed in %1', of)}
      role="group"
      tabIndex={0}
    >
      {lines.map((line, place) => (
        <div key={place} data-sign={line.charAt(0)}>
          {line}
        </div>
      ))}
    </pre>
  );
}

interface TableProps {
  readonly heads: readonly string[];
  readonly rows: readonly (readonly React.ReactNode[])[];
}

function Table({ heads, rows }: TableProps): JSX.Element {
  return (
    <table>
      <thead>
        <tr>
          {heads.map(head => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((cells, place) => (
          <tr key={place}>
            {cells.map((cell, column) => (
              <td key={column}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function verdictOf(verdict: Verdict, trans: TranslationBundle): string {
  switch (verdict) {
    case 'run':
      return trans.__('runs');
    case 'rerun':
      return trans.__('runs again');
    case 'replay':
      return trans.__('is replayed');
    case 'not taken':
      return trans.__('is not taken');
    case 'refused':
      return trans.__('is refused');
  }
}
