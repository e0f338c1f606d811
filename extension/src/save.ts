/**
 * Code that has run as a step is in the file, too.
 *
 * The rule: a commit is durable at once, an edit of its cell only when it is saved;
 * in between a page that dies leaves a step whose code is lost. Where JupyterLab may
 * save by itself, it does so then; else the sidebar asks.
 */

import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

import { codeOf } from './cells';
import type { Lines } from './lines';
import { textsOf } from './notebook';

/** Save notebooks whose code differs from their file's when a step has ended. */
export function saveWhatRan(
  tracker: INotebookTracker,
  lines: Lines,
  manager: IDocumentManager
): void {
  const saved = new WeakMap<object, string>();
  const note = (panel: NotebookPanel): void => {
    saved.set(panel.context, codeOf(textsOf(panel)));
  };
  const follow = (panel: NotebookPanel): void => {
    panel.context.fileChanged.connect(() => note(panel));
    void panel.context.ready.then(() => note(panel));
  };
  tracker.widgetAdded.connect((_, panel) => follow(panel));
  tracker.forEach(follow);
  lines.ended.connect((_, session) => {
    const panel = tracker.find(({ sessionContext }) => sessionContext === session);
    if (!panel || !manager.autosave || panel.context.model.readOnly) {
      return;
    }
    if (saved.get(panel.context) !== codeOf(textsOf(panel))) {
      // what stands against it is told by JupyterLab
      panel.context.save().catch(() => undefined);
    }
  });
}
