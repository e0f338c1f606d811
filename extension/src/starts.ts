/**
 * A kernel that has started: nbresume is loaded into it, and the way to go on offered.
 *
 * The rule: both are by setting, and nothing is restored or run before somebody
 * presses a button. A kernel in which this page has run a cell has been greeted there.
 */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ISessionContext } from '@jupyterlab/apputils';
import { Notification } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';

import { hasSteps } from './cells';
import { isNew, loadByItself } from './kernel';
import type { Lines } from './lines';
import type { IRunClient } from './model';
import { textsOf } from './notebook';
import { pointOf } from './marker';
import type { RunView } from './runview';
import { CommandIDs } from './tokens';
import type { Wishes } from './wishes';

/** What it works with. */
export interface StartParts {
  readonly app: JupyterFrontEnd;
  readonly tracker: INotebookTracker;
  readonly lines: Lines;
  readonly client: IRunClient;
  readonly trans: TranslationBundle;
  readonly wishes: () => Wishes;
}

/** What is known of the kernel of one notebook. */
interface Start {
  /** No cell was run in it from this page. */
  isFresh: boolean;
  isLoading: boolean;
  isOffered: boolean;
  /** The notification that stands; null: none. */
  offer: string | null;
}

/** Looks after the kernels of the open notebooks. */
export class Starts {
  constructor(private readonly parts: StartParts) {
    const { tracker, lines } = parts;
    tracker.widgetAdded.connect((_, panel) => this.add(panel));
    tracker.forEach(panel => this.add(panel));
    lines.changed.connect((_, context) => void this.offer(context));
    NotebookActions.executionScheduled.connect((_, { notebook }) => {
      const panel = tracker.find(({ content }) => content === notebook);
      const start = panel && this.starts.get(panel.sessionContext);
      if (start) {
        start.isFresh = false;
        withdraw(start);
      }
    });
  }

  /** Look again: the settings are others. */
  update(): void {
    for (const context of this.starts.keys()) {
      void this.load(context);
    }
  }

  private add(panel: NotebookPanel): void {
    const { sessionContext: context } = panel;
    if (this.starts.has(context)) {
      return;
    }
    this.starts.set(context, { ...FRESH });
    const renew = (): void => {
      withdraw(this.startOf(context));
      this.starts.set(context, { ...FRESH });
    };
    context.statusChanged.connect((_, status) => {
      if (isNew(status)) {
        renew();
      } else if (status === 'idle') {
        void this.load(context);
      }
    });
    context.kernelChanged.connect(renew);
    context.disposed.connect(() => {
      withdraw(this.startOf(context));
      this.starts.delete(context);
    });
    // before that the cells are not known
    void panel.context.ready.then(() => this.load(context));
  }

  /** Load nbresume, if that is wished for and there are steps. */
  private async load(context: ISessionContext): Promise<void> {
    const { lines, wishes } = this.parts;
    const panel = this.panelOf(context);
    const kernel = context.session?.kernel;
    const start = this.startOf(context);
    const canBe = kernel?.status === 'idle' && start.isFresh && !start.isLoading;
    if (!wishes().autoLoad || !canBe || !panel?.context.isReady) {
      return;
    }
    const isWanted = hasSteps(textsOf(panel));
    if (isWanted && lines.liveOf(panel).link !== 'open') {
      start.isLoading = true;
      if (await loadByItself(kernel)) {
        lines.open(panel);
      }
    }
  }

  /** Offer to resume, if this kernel has nothing of a run that can go on. */
  private async offer(context: ISessionContext): Promise<void> {
    const { client, lines, wishes } = this.parts;
    const panel = this.panelOf(context);
    const start = this.startOf(context);
    if (!panel || !wishes().offerResume || !start.isFresh || start.isOffered) {
      return;
    }
    const { link, held, running } = lines.liveOf(panel);
    if (link !== 'open' || held.size > 0 || running !== null) {
      return;
    }
    start.isOffered = true;
    const answer = await client.run(panel.context.localPath);
    if (answer.kind === 'run' && this.startOf(context) === start) {
      this.notify(panel, answer.view, start);
    }
  }

  private notify(panel: NotebookPanel, view: RunView, start: Start): void {
    const { trans } = this.parts;
    const point = pointOf(view);
    const hasCommits = view.steps.some(({ holds }) => holds);
    if (!start.isFresh || !view.isTrusted || point === null || !hasCommits) {
      return;
    }
    const name = PathExt.basename(panel.context.localPath);
    const resume = {
      label: trans.__('Resume'),
      caption: trans.__(
        'Bind what the committed steps made, and run every cell below them'
      ),
      displayType: 'accent' as const,
      callback: () => this.act(panel, CommandIDs.resume)
    };
    const show = {
      label: trans.__('Show Steps'),
      callback: () => this.act(panel, CommandIDs.show)
    };
    start.offer = Notification.emit(`${name}: ${view.headline}`, 'info', {
      autoClose: false,
      actions: point.plan === 'rerun' ? [resume, show] : [show]
    });
  }

  private act(panel: NotebookPanel, command: string): void {
    const { shell, commands } = this.parts.app;
    shell.activateById(panel.id);
    void commands.execute(command);
  }

  private panelOf(context: ISessionContext): NotebookPanel | undefined {
    return this.parts.tracker.find(({ sessionContext }) => sessionContext === context);
  }

  private startOf(context: ISessionContext): Start {
    return this.starts.get(context) ?? { ...FRESH, isFresh: false };
  }

  private readonly starts = new Map<ISessionContext, Start>();
}

const FRESH: Start = {
  isFresh: true,
  isLoading: false,
  isOffered: false,
  offer: null
};

function withdraw(start: Start): void {
  if (start.offer !== null) {
    Notification.dismiss(start.offer);
    start.offer = null;
  }
}
