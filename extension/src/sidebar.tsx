/**
 * The sidebar: the run of the current notebook, read from the model only.
 *
 * The rule: it decides nothing; what is clicked is handed on.
 */

import type { ITranslator, TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget, refreshIcon } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import * as React from 'react';

import { stepsIcon } from './icons';
import type { RunModel } from './model';
import { Notices } from './notices';
import { Steps } from './steps';
import type { GoTo } from './steps';
import { DOMAIN, SIDEBAR_ID } from './tokens';
import { Trail } from './trail';

/** What can be asked for by a click. */
export interface Actions {
  readonly refresh: () => void;
  readonly enable: () => void;
  readonly save: () => void;
  readonly resume: () => void;
  readonly goTo: GoTo;
}

/** The panel on the right. */
export class Sidebar extends ReactWidget {
  constructor(
    private readonly model: RunModel,
    private readonly actions: Actions,
    translator: ITranslator
  ) {
    super();
    this.trans = translator.load(DOMAIN);
    this.id = SIDEBAR_ID;
    this.addClass('jp-nbresume');
    this.title.icon = stepsIcon;
    this.title.caption = this.trans.__('Steps of the notebook');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', this.trans.__('Steps of the notebook'));
    model.stateChanged.connect(() => this.update());
  }

  /** Emitted when the sidebar comes into view. */
  get shown(): ISignal<this, void> {
    return this._shown;
  }

  protected onAfterShow(msg: Message): void {
    super.onAfterShow(msg);
    this._shown.emit();
  }

  protected render(): JSX.Element {
    const { model, actions, trans } = this;
    if (model.path === '') {
      return (
        <p className="jp-nbresume-empty">
          {trans.__('Open a notebook to see its steps.')}
        </p>
      );
    }
    const view = model.answer?.kind === 'run' ? model.answer.view : null;
    const now = new Date();
    return (
      <>
        <header className="jp-nbresume-head">
          <h2 title={model.path}>{nameOf(model.path)}</h2>
          <button
            className="jp-nbresume-refresh"
            title={trans.__('Look again')}
            aria-label={trans.__('Look again')}
            onClick={actions.refresh}
          >
            <refreshIcon.react
              tag="span"
              width="16px"
              height="16px"
              aria-hidden="true"
            />
          </button>
        </header>
        <p className="jp-nbresume-headline" role="status">
          {view?.headline ?? ''}
        </p>
        <Notices
          model={model}
          enable={actions.enable}
          save={actions.save}
          dismiss={() => model.setSaid('')}
          trans={trans}
        />
        {view !== null && (
          <>
            <Steps
              view={view}
              now={now}
              canResume={model.canResume}
              resume={actions.resume}
              goTo={actions.goTo}
              trans={trans}
            />
            <Trail
              key={view.runId}
              events={model.events}
              now={now}
              show={isShown => void model.showTrail(isShown)}
              trans={trans}
            />
          </>
        )}
      </>
    );
  }

  private readonly trans: TranslationBundle;
  private readonly _shown = new Signal<this, void>(this);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
