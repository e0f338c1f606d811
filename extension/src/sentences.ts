/**
 * What an answer of the server says to people, if it is no run.
 *
 * The rule: each of them says what to do.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { Answer, RunView } from './runview';

/** Any answer but the one that was hoped for. */
export type Failure = Exclude<Answer, { readonly kind: 'run' }>;

/** Return what an answer says, beside the steps that it may hold. */
export function sentences(answer: Answer, trans: TranslationBundle): string[] {
  switch (answer.kind) {
    case 'run':
      return ofRun(answer.view, trans);
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

function ofRun(view: RunView, trans: TranslationBundle): string[] {
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
  if (view.origin !== null) {
    const { run, at } = view.origin;
    said.push(trans.__('a fork of run %1, behind step %2', run, at));
  }
  return [...said, ...view.differs];
}
