/** What the commit of a step stored: names with previews, displays, the cell as it ran. */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { Preview } from './preview';
import type { OutputDetails, StepDetails } from './runview';
import { size } from './words';

interface Shared {
  readonly sanitize: (html: string) => string;
  readonly trans: TranslationBundle;
}

interface StoredProps extends Shared {
  readonly details: StepDetails;
}

/** The names, what the cell showed, and its text. */
export function Stored({ details, sanitize, trans }: StoredProps): JSX.Element {
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

interface OutputProps extends Shared {
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
