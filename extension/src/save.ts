/**
 * Whether the code of an open notebook is that of its file, and that it becomes so.
 *
 * The rule: a commit is durable at once, an edit of its cell only when it is saved;
 * in between a page that dies leaves a step whose code is lost. Where JupyterLab may
 * save by itself, it does so when a step has ended; else the sidebar asks.
 */

import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

import { codeOf } from './cells';
import type { Lines } from './lines';
import { textsOf } from './notebook';

/** So long a person's own save has time: two that meet make JupyterLab ask. */
const AFTER_MS = 1500;

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

  /** Return whether a notebook is being saved. */
  isSaving(panel: NotebookPanel): boolean {
    return this.saving.has(panel.context);
  }

  private follow(panel: NotebookPanel): void {
    const { context } = panel;
    const note = (): void => {
      // a new name is told like a new content, and saves nothing
      if (!context.model.dirty || !this.codes.has(context)) {
        this.codes.set(context, codeOf(textsOf(panel)));
      }
    };
    context.saveState.connect((_, state) => {
      if (state === 'started') {
        this.saving.add(context);
      } else {
        this.saving.delete(context);
      }
    });
    context.fileChanged.connect(note);
    void context.ready.then(note);
  }

  private readonly codes = new WeakMap<NotebookPanel['context'], string>();
  private readonly saving = new WeakSet<NotebookPanel['context']>();
}

/** Save notebooks whose code differs from their file's when a step has ended. */
export function saveWhatRan(
  tracker: INotebookTracker,
  lines: Lines,
  saved: SavedCode,
  manager: IDocumentManager
): void {
  const save = (panel: NotebookPanel): void => {
    const mayBe = manager.autosave && !panel.isDisposed && !saved.isSaving(panel);
    if (mayBe && !panel.context.model.readOnly && saved.differs(panel)) {
      // what stands against it is told by JupyterLab
      panel.context.save().catch(() => undefined);
    }
  };
  lines.ended.connect((_, session) => {
    const panel = tracker.find(({ sessionContext }) => sessionContext === session);
    if (panel) {
      setTimeout(() => save(panel), AFTER_MS);
    }
  });
}
