/**
 * Badges, locks and the mark in every open notebook, also in those beside the one
 * that the sidebar follows.
 *
 * The rule: locks are of the view. They are written into a notebook only if its owner
 * asked for that by the setting, with a word that says whose lock it is.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';
import { MessageLoop } from '@lumino/messaging';

import type { Lines } from './lines';
import { Unlocked } from './locks';
import { Marks } from './marks';
import type { IRunClient, RunModel } from './model';
import type { Answer, RunView } from './runview';
import type { Wishes } from './wishes';

/** Decorates the open notebooks. */
export class Decorator {
  constructor(
    tracker: INotebookTracker,
    private readonly model: RunModel,
    private readonly client: IRunClient,
    private readonly lines: Lines,
    private readonly wishes: () => Wishes,
    private readonly trans: TranslationBundle
  ) {
    tracker.widgetAdded.connect((_, panel) => this.add(panel));
    tracker.forEach(panel => this.add(panel));
    // what the model was about to learn of the one that was current
    tracker.currentChanged.connect(() => {
      for (const panel of this.marks.keys()) {
        void this.ask(panel);
      }
    });
    model.stateChanged.connect(() => this.onModel());
    lines.changed.connect((_, context) => {
      for (const [panel, marks] of this.marks) {
        if (panel.sessionContext === context) {
          marks.update();
          void this.ask(panel);
        }
      }
    });
    NotebookActions.executed.connect((_, { notebook }) => {
      const panel = tracker.find(({ content }) => content === notebook);
      if (panel) {
        void this.ask(panel);
      }
    });
  }

  /** Look at all cells anew, soon. */
  update(): void {
    for (const marks of this.marks.values()) {
      marks.update();
    }
  }

  /** Take the lock off the cell of a step, in every view of the notebook. */
  unlock(panel: NotebookPanel, step: string): void {
    this.marks.get(panel)?.unlock(step);
  }

  private add(panel: NotebookPanel): void {
    const marks = new Marks(panel, this.trans, {
      unlocked: this.unlocked,
      live: () => this.lines.liveOf(panel),
      wishes: this.wishes,
      hasUnlocked: () => this.update()
    });
    this.marks.set(panel, marks);
    panel.disposed.connect(() => {
      this.marks.delete(panel);
      marks.dispose();
    });
    // behind another one it was not asked about, and no longer followed
    MessageLoop.installMessageHook(panel, (_, { type }) => {
      if (type === 'after-show') {
        void this.ask(panel);
      }
      return true;
    });
    void panel.context.ready.then(() => {
      this.onModel();
      void this.ask(panel);
    });
    panel.context.fileChanged.connect(() => {
      // of a new name it is told before the path is the new one
      void Promise.resolve().then(() => this.ask(panel));
    });
  }

  private onModel(): void {
    const { path, answer } = this.model;
    if (answer === null) {
      return;
    }
    for (const [panel, marks] of this.marks) {
      if (panel.context.localPath === path) {
        show(marks, answer);
      }
    }
    const view = answer.kind === 'run' ? answer.view : null;
    if (view !== null && versionOf(view) !== this.seen) {
      this.seen = versionOf(view);
      // another notebook may show the same run
      for (const [panel, marks] of this.marks) {
        if (marks.view?.runId === view.runId) {
          void this.ask(panel);
        }
      }
    }
  }

  /** Ask about a notebook beside the one that the model follows. */
  private async ask(panel: NotebookPanel): Promise<void> {
    const { localPath: path } = panel.context;
    if (panel.isDisposed || !panel.isVisible || path === this.model.path) {
      return;
    }
    const answer = await this.client.run(path);
    const marks = this.marks.get(panel);
    if (marks && path === panel.context.localPath) {
      show(marks, answer);
    }
  }

  private readonly marks = new Map<NotebookPanel, Marks>();
  private readonly unlocked = new Unlocked();
  private seen = '';
}

/** Show what the server says; a server that is away takes no lock off. */
function show(marks: Marks, answer: Answer): void {
  if (answer.kind !== 'unreachable') {
    marks.setView(answer.kind === 'run' ? answer.view : null);
  }
}

function versionOf({ runId, revision }: RunView): string {
  return `${runId} ${revision}`;
}
