/**
 * The answer to what somebody asked: the plan, an explanation, what a step stored.
 *
 * The rule: it shows what the server said, in its words, and asks for nothing.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import { closeIcon } from '@jupyterlab/ui-components';
import * as React from 'react';

import type { Inquiry, Question, Reply } from './inquiry';
import { Preview } from './preview';
import type {
  Cue,
  Explained,
  OutputDetails,
  PlanView,
  StepDetails,
  Verdict
} from './runview';
import { sentences } from './sentences';
import { duration, size } from './words';

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
        rows={plan.steps.map(({ step, verdict, durationS, why }) => [
          <b key="step">{step}</b>,
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
        heads={[trans.__('Depends on'), trans.__('Then'), trans.__('Now')]}
        rows={explained.cues.map(cue => [
          <>
            {cue.cue}
            <div className="jp-nbresume-quiet">{changed(cue, trans)}</div>
          </>,
          <code key="then">{cue.then}</code>,
          <code key="now">{cue.now}</code>
        ])}
      />
      {explained.ways.map(({ command, text }) => (
        <p key={command}>
          <code>{command}</code> {text}
        </p>
      ))}
    </>
  );
}

function changed({ isChanged, text }: Cue, trans: TranslationBundle): string {
  if (isChanged === null) {
    return text === '' ? trans.__('known when it runs') : text;
  }
  return isChanged ? trans.__('changed') : trans.__('the same');
}

interface StoredProps extends Omit<AnswerProps, 'reply'> {
  readonly details: StepDetails;
}

function Stored({ details, sanitize, trans }: StoredProps): JSX.Element {
  const { outputs, shown, shownLeftOut } = details;
  return (
    <>
      <p>
        {trans.__(
          'Commit %1 of %2',
          String(details.commitNumber),
          new Date(details.committedAt).toLocaleString()
        )}
      </p>
      {outputs.map(output => (
        <Output key={output.name} output={output} sanitize={sanitize} trans={trans} />
      ))}
      {outputs.length === 0 && <p>{trans.__('It set no names.')}</p>}
      {shown.length + shownLeftOut > 0 && (
        <details>
          <summary>{trans.__('What the cell showed')}</summary>
          {shown.map((bundle, place) => (
            <Preview
              key={place}
              bundle={bundle}
              label={trans.__('Output %1', String(place + 1))}
              sanitize={sanitize}
            />
          ))}
          {shownLeftOut > 0 && (
            <p>
              {trans._n(
                '%1 large output is left out',
                '%1 large outputs are left out',
                shownLeftOut
              )}
            </p>
          )}
        </details>
      )}
      <details>
        <summary>{trans.__('The cell as it ran')}</summary>
        <pre>{details.code}</pre>
      </details>
    </>
  );
}

interface OutputProps extends Omit<AnswerProps, 'reply'> {
  readonly output: OutputDetails;
}

function Output({ output, sanitize, trans }: OutputProps): JSX.Element {
  const { name, kind, dtype, shape, sizeBytes, notKept, preview } = output;
  const facts = [
    kind,
    dtype,
    shape === null ? '' : shape.join(' × '),
    sizeBytes > 0 ? size(sizeBytes) : '',
    notKept === '' ? '' : trans.__('not kept: %1', notKept)
  ];
  return (
    <div className="jp-nbresume-output" data-name={name}>
      <b>{name}</b>{' '}
      <span className="jp-nbresume-quiet">
        {facts.filter(fact => fact !== '').join(' · ')}
      </span>
      <Preview
        bundle={preview}
        label={trans.__('Preview of %1', name)}
        sanitize={sanitize}
      />
    </div>
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
