/** What has to be said before the steps: no run, not enabled, refused, not trusted. */

import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { Link } from './live';
import type { KernelFacts, RunModel } from './model';
import { sentences } from './sentences';

interface NoticesProps {
  readonly model: RunModel;
  readonly enable: () => void;
  readonly save: () => void;
  readonly chooseKernel: () => void;
  readonly dismiss: () => void;
  readonly trans: TranslationBundle;
}

/** Everything that is to be said, in the order of its weight. */
export function Notices({
  model,
  enable,
  save,
  chooseKernel,
  dismiss,
  trans
}: NoticesProps): JSX.Element {
  const { answer, kernel } = model;
  const said = answer === null ? [] : sentences(answer, trans);
  const deaf = model.isDeaf ? liveSentence(model.live.link, trans) : '';
  const needsEnabling =
    !['none', 'dead'].includes(kernel.status) && kernel.isEnabled === false;
  const lost = lostSentence(kernel.status, trans);
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
      {lost !== '' && answer?.kind === 'run' && (
        <div className="jp-nbresume-notice" data-notice="kernel">
          <p>{lost}</p>
          <button className="jp-mod-styled jp-mod-accept" onClick={chooseKernel}>
            {trans.__('Choose a Kernel …')}
          </button>
        </div>
      )}
      {deaf !== '' && (
        <p className="jp-nbresume-notice" data-notice="live">
          {deaf}
        </p>
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

/** Why nothing can be resumed, and what to do; empty if there is a kernel. */
function lostSentence(status: KernelFacts['status'], trans: TranslationBundle): string {
  switch (status) {
    case 'dead':
      return trans.__(
        'The kernel is dead. What is committed stays; choose a kernel, and the run goes on.'
      );
    case 'none':
      return trans.__(
        'The notebook has no kernel. What is committed stays; choose a kernel, and the run goes on.'
      );
    default:
      return '';
  }
}

/** Why nothing is told while cells run; the steps themselves come from the server. */
function liveSentence(link: Link, trans: TranslationBundle): string {
  return link === 'other'
    ? trans.__(
        'The kernel has another version of nbresume, which this page does not understand. The steps here are those of the store; reload the page, or restart the kernel.'
      )
    : trans.__(
        'The kernel does not tell this page what its steps do. The steps here are those of the store; cells that run from now on are locked like those of an earlier kernel. Restart the kernel to change that.'
      );
}
