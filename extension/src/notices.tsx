/** What has to be said before the steps: no run, not enabled, refused, not trusted. */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { RunModel } from './model';
import type { Answer, RunView } from './runview';

interface NoticesProps {
  readonly model: RunModel;
  readonly enable: () => void;
  readonly save: () => void;
  readonly dismiss: () => void;
  readonly trans: TranslationBundle;
}

/** Everything that is to be said, in the order of its weight. */
export function Notices({
  model,
  enable,
  save,
  dismiss,
  trans
}: NoticesProps): JSX.Element {
  const { answer, kernel } = model;
  const said = answer === null ? [] : sentences(answer, trans);
  const needsEnabling = kernel.status !== 'none' && kernel.isEnabled === false;
  return (
    <>
      {said.map(sentence => (
        <p className="jp-nbresume-notice" key={sentence}>
          {sentence}
        </p>
      ))}
      {model.isEdited && answer?.kind === 'run' && (
        <div className="jp-nbresume-notice" data-notice="edited">
          <p>
            {trans.__(
              'Cells were changed since the notebook was saved; the steps here are those of the saved file.'
            )}
          </p>
          <button className="jp-mod-styled jp-mod-accept" onClick={save}>
            {trans.__('Save')}
          </button>
        </div>
      )}
      {model.said !== '' && (
        <div className="jp-nbresume-notice" data-notice="said">
          <pre aria-live="polite">{model.said}</pre>
          <button className="jp-mod-styled" onClick={dismiss}>
            {trans.__('Dismiss')}
          </button>
        </div>
      )}
      {needsEnabling && (
        <div className="jp-nbresume-notice" data-notice="enable">
          <p>{trans.__('nbresume is not loaded in this kernel yet.')}</p>
          <button
            className={
              model.canResume ? 'jp-mod-styled' : 'jp-mod-styled jp-mod-accept'
            }
            title={trans.__(
              'Run the cell %load_ext nbresume; it is added if there is none'
            )}
            onClick={enable}
          >
            {trans.__('Enable here')}
          </button>
        </div>
      )}
    </>
  );
}

function sentences(answer: Answer, trans: TranslationBundle): string[] {
  switch (answer.kind) {
    case 'run':
      return runSentences(answer.view, trans);
    case 'no-run':
      return [
        trans.__(
          'Nothing of this notebook is stored yet. Begin a cell with %%%%step NAME, and run it.'
        )
      ];
    case 'refused': {
      const { message, because, remedy } = answer.refusal;
      return [because === '' ? message : `${message}: ${because}.`, remedy];
    }
    case 'unreachable':
      return [
        answer.status === 0
          ? trans.__('The Jupyter server does not answer.')
          : trans.__(
              'The Jupyter server does not know nbresume (status %1). Install nbresume where the server runs, and restart the server.',
              String(answer.status)
            )
      ];
    case 'unreadable':
      return [
        trans.__(
          'The server answered in a way that this page does not understand (%1). Reload the page; nbresume may be older here than on the server.',
          answer.because
        )
      ];
  }
}

function runSentences(view: RunView, trans: TranslationBundle): string[] {
  const said: string[] = [];
  if (!view.isTrusted) {
    said.push(
      trans.__(
        'This run was written under another key. Nothing of it is loaded until you type nbresume trust FOLDER.'
      )
    );
  }
  if (view.damaged.length > 0) {
    said.push(
      trans.__(
        'Damaged records: %1. Type %steps verify to see what is concerned.',
        view.damaged.join(', ')
      )
    );
  }
  return [...said, ...view.differs];
}
