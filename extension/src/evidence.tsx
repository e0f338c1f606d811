/** What the dialog about a step asks for, according to the way out that was chosen. */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { Draft, Kind } from './decision';
import { KINDS, asksFor } from './decision';

interface FieldProps {
  readonly trans: TranslationBundle;
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
}

/** The fields of the way out that was chosen; none before that. */
export function More(props: FieldProps): JSX.Element | null {
  switch (asksFor(props.draft.way)) {
    case 'nothing':
      return null;
    case 'again':
      return <Again {...props} />;
    case 'result':
      return (
        <>
          <Proof {...props} />
          <Result {...props} />
        </>
      );
    case 'values':
      return (
        <>
          <Proof {...props} />
          <Values {...props} />
        </>
      );
  }
}

/** How a person knows that it happened outside. */
function Proof({ trans, draft, change }: FieldProps): JSX.Element {
  return (
    <div className="jp-nbresume-proof">
      <label className="jp-nbresume-field">
        {trans.__('How it is known')}
        <select
          name="kind"
          value={draft.kind}
          onChange={event => change({ kind: event.target.value as Kind })}
        >
          {KINDS.map(kind => (
            <option key={kind} value={kind}>
              {kindOf(kind, trans)}
            </option>
          ))}
        </select>
      </label>
      <label className="jp-nbresume-field">
        {trans.__('What proves it (an id, a link)')}
        <input
          type="text"
          name="reference"
          value={draft.reference}
          onChange={event => change({ reference: event.target.value })}
        />
      </label>
    </div>
  );
}

function Result({ trans, draft, change }: FieldProps): JSX.Element {
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
}

function Values({ trans, draft, change }: FieldProps): JSX.Element {
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

function Again({ trans, draft, change }: FieldProps): JSX.Element {
  return (
    <label className="jp-nbresume-field">
      {trans.__('Effects to be made anew, by their keys')}
      <textarea
        name="again"
        rows={2}
        value={draft.again}
        onChange={event => change({ again: event.target.value })}
      />
      <small>
        {trans.__(
          'One key on a line, as the history names it, or the word all. Effects on record that are left out are replayed, and not made again.'
        )}
      </small>
    </label>
  );
}

/** Return the word of the record, and what it means. */
function kindOf(kind: Kind, trans: TranslationBundle): string {
  switch (kind) {
    case 'statement':
      return trans.__('statement: I say so');
    case 'receipt':
      return trans.__('receipt: one was given');
    case 'query':
      return trans.__('query: I looked it up');
  }
}
