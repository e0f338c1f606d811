/**
 * The sidebar: the run of the current notebook, read from the models only.
 *
 * The rule: it decides nothing; what is clicked is handed on.
 */

import type { ITranslator, TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget, refreshIcon } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';
import * as React from 'react';

import { whyNotResume } from './can';
import { Details } from './details';
import { KeepFocus } from './focus';
import { stepsIcon } from './icons';
import type { Inquiry } from './inquiry';
import { SCROLLER } from './list';
import type { RunModel } from './model';
import { Notices } from './notices';
import type { StepActions } from './step';
import { Steps } from './steps';
import { DOMAIN, SIDEBAR_ID } from './tokens';
import { Trail } from './trail';

/** What can be asked for by a click. */
export interface Actions extends StepActions {
  readonly refresh: () => void;
  readonly enable: () => void;
  readonly save: () => void;
  readonly chooseKernel: () => void;
  readonly restore: () => void;
  /** Why the namespace cannot be restored now; empty if it can. */
  readonly whyNotRestore: () => string;
  readonly plan: () => void;
}

/** What the sidebar reads, and what it hands clicks to. */
export interface SidebarParts {
  readonly model: RunModel;
  readonly inquiry: Inquiry;
  readonly actions: Actions;
  /** Makes HTML of a store safe to show. */
  readonly sanitize: (html: string) => string;
}

/** The panel on the right. */
export class Sidebar extends ReactWidget {
  constructor(
    private readonly parts: SidebarParts,
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
    parts.model.stateChanged.connect(() => this.update());
    parts.inquiry.stateChanged.connect(() => this.update());
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
    const { model, inquiry, actions, sanitize } = this.parts;
    const { trans } = this;
    if (model.path === '') {
      return (
        <p className="jp-nbresume-empty">
          {trans.__('Open a notebook to see its steps.')}
        </p>
      );
    }
    const view = model.answer?.kind === 'run' ? model.answer.view : null;
    const now = new Date();
    const whyNot = whyNotResume(model, trans);
    return (
      <KeepFocus>
        <Head {...this.parts} trans={trans} />
        <div className={SCROLLER} key={model.path}>
          <Notices
            model={model}
            enable={actions.enable}
            save={actions.save}
            chooseKernel={actions.chooseKernel}
            dismiss={() => model.setSaid('')}
            trans={trans}
          />
          {inquiry.question?.kind === 'plan' && (
            <Details inquiry={inquiry} sanitize={sanitize} trans={trans} />
          )}
          {view !== null && (
            <>
              <Steps
                key={`steps of ${view.runId}`}
                view={view}
                openSteps={model.openSteps}
                inquiry={inquiry}
                sanitize={sanitize}
                now={now}
                running={model.live.running}
                whyNotResume={whyNot}
                actions={actions}
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
        </div>
      </KeepFocus>
    );
  }

  private readonly trans: TranslationBundle;
  private readonly _shown = new Signal<this, void>(this);
}

interface HeadProps extends SidebarParts {
  readonly trans: TranslationBundle;
}

/** The notebook, where it stands in one sentence, and what can be done with it. */
function Head({ model, actions, trans }: HeadProps): JSX.Element {
  const view = model.answer?.kind === 'run' ? model.answer.view : null;
  return (
    <>
      <header className="jp-nbresume-head">
        <h2 title={model.path} tabIndex={-1}>
          {nameOf(model.path)}
        </h2>
        <button
          className="jp-nbresume-plain"
          title={trans.__('Look again')}
          aria-label={trans.__('Look again')}
          onClick={actions.refresh}
        >
          <refreshIcon.react tag="span" width="16px" height="16px" aria-hidden="true" />
        </button>
      </header>
      <p className="jp-nbresume-headline" role="status">
        {view?.headline ?? ''}
      </p>
      {view !== null && (
        <div className="jp-nbresume-buttons">
          <HeadButton
            label={trans.__('Resume')}
            caption={trans.__(
              'Bind what the committed steps made, and run every cell below them'
            )}
            whyNot={whyNotResume(model, trans)}
            act={actions.resume}
            isMain
          />
          <HeadButton
            label={trans.__('Restore only')}
            caption={trans.__('Bind what the committed steps made, and run nothing')}
            whyNot={actions.whyNotRestore()}
            act={actions.restore}
          />
          <HeadButton
            label={trans.__('Plan')}
            caption={trans.__('See what running all cells would do, and run nothing')}
            whyNot=""
            act={actions.plan}
          />
        </div>
      )}
    </>
  );
}

interface HeadButtonProps {
  readonly label: string;
  readonly caption: string;
  /** Why it does nothing now; empty if it does something. */
  readonly whyNot: string;
  readonly act: () => void;
  readonly isMain?: boolean;
}

/**
 * A button that keeps the focus, and says why, while it can do nothing.
 *
 * A click is handed on whatever it looks like: a question of somebody's may have made
 * the kernel busy since one looked.
 */
function HeadButton({
  label,
  caption,
  whyNot,
  act,
  isMain = false
}: HeadButtonProps): JSX.Element {
  return (
    <button
      className={isMain ? 'jp-mod-styled jp-mod-accept' : 'jp-mod-styled'}
      title={whyNot === '' ? caption : whyNot}
      aria-disabled={whyNot !== ''}
      onClick={act}
    >
      {label}
    </button>
  );
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
