/**
 * Whether the code of an open notebook is that of its file, and that it becomes so.
 *
 * The rule: a commit is durable at once, an edit of its cell only when it is saved;
 * in between a page that dies leaves a step whose code is lost. Where JupyterLab may
 * save by itself, it does so when a step has ended; else the sidebar asks. A document
 * of several people is written by its server: pages that save it, too, find a file
 * that none of them wrote, and ask which of the two shall be lost.
 */

import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

import { codeOf } from './cells';
import type { Lines } from './lines';
import { textsOf } from './notebook';
import { Turns } from './turns';

type Context = NotebookPanel['context'];

/** The code of the open notebooks as their files have it. */
export class SavedCode {
  constructor(tracker: INotebookTracker) {
    tracker.widgetAdded.connect((_, panel) => this.follow(panel));
    tracker.forEach(panel => this.follow(panel));
  }

  /** Return whether the code in a notebook differs from that of its file. */
  differs(panel: NotebookPanel): boolean {
    const saved = this.codes.get(panel.context);
    return saved !== undefined && saved !== codeOf(textsOf(panel));
  }

  /** Wait until a notebook is not being saved. */
  async whenSaved(panel: NotebookPanel): Promise<void> {
    await this.turns.get(panel.context)?.last;
  }

  private follow(panel: NotebookPanel): void {
    const { context } = panel;
    const note = (): void => {
      // a new name is told like a new content, and a save by how it ends
      const isRead = !context.model.dirty && !this.written.has(context);
      if (isRead || !this.codes.has(context)) {
        this.codes.set(context, codeOf(textsOf(panel)));
      }
    };
    if (!this.turns.has(context)) {
      this.turns.set(context, new Turns(context));
    }
    context.fileChanged.connect(note);
    context.saveState.connect((_, state) => this.onSave(panel, state));
    void context.ready.then(note);
  }

  private onSave(panel: NotebookPanel, state: string): void {
    const { context } = panel;
    if (state === 'started') {
      // what is written is what stands here now, whatever is typed until it is written
      this.written.set(context, codeOf(textsOf(panel)));
      return;
    }
    const written = this.written.get(context);
    if (state === 'completed' && written !== undefined) {
      this.codes.set(context, written);
    }
    this.written.delete(context);
  }

  private readonly written = new WeakMap<Context, string>();
  private readonly codes = new WeakMap<Context, string>();
  private readonly turns = new WeakMap<Context, Turns>();
}

/** Save notebooks whose code differs from their file's when a step has ended. */
export function saveWhatRan(
  tracker: INotebookTracker,
  lines: Lines,
  saved: SavedCode,
  manager: IDocumentManager,
  isWanted: () => boolean
): void {
  const save = async (panel: NotebookPanel): Promise<void> => {
    await saved.whenSaved(panel);
    if (panel.isDisposed || !isWanted() || !manager.autosave) {
      return;
    }
    const { readOnly, collaborative } = panel.context.model;
    if (!readOnly && collaborative !== true && saved.differs(panel)) {
      // what stands against it is told by JupyterLab
      await panel.context.save().catch(() => undefined);
    }
  };
  lines.ended.connect((_, session) => {
    const panel = tracker.find(({ sessionContext }) => sessionContext === session);
    if (panel) {
      void save(panel);
    }
  });
}
