/**
 * One line for each kernel of the open notebooks.
 *
 * The rule: views of one notebook share its line. A kernel is asked when the notebook
 * has steps, and again after a cell that may have loaded nbresume.
 */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import { findLoad, hasSteps } from './cells';
import { Line } from './comm';
import { NOT_LIVE } from './live';
import type { Live } from './live';
import { textOf, textsOf } from './notebook';

/** The lines of all open notebooks. */
export class Lines {
  constructor(private readonly tracker: INotebookTracker) {
    tracker.widgetAdded.connect((_, panel) => this.add(panel));
    tracker.forEach(panel => this.add(panel));
    NotebookActions.executed.connect((_, { notebook, cell }) => {
      const panel = tracker.find(({ content }) => content === notebook);
      const text = textOf(cell.model);
      if (panel && (hasSteps([text]) || findLoad([text]) === 0)) {
        this.open(panel);
      }
    });
  }

  /** Emitted with the notebook's session whose line told something. */
  get changed(): ISignal<this, ISessionContext> {
    return this._changed;
  }

  /** Emitted with the notebook's session when a step has ended in its kernel. */
  get ended(): ISignal<this, ISessionContext> {
    return this._ended;
  }

  /** Return what the kernel of a notebook told. */
  liveOf(panel: NotebookPanel): Live {
    return this.lines.get(panel.sessionContext)?.live ?? NOT_LIVE;
  }

  /** Ask the kernel of a notebook, if it is not being asked. */
  open(panel: NotebookPanel): void {
    this.lines.get(panel.sessionContext)?.open();
  }

  private add(panel: NotebookPanel): void {
    const { sessionContext: context } = panel;
    if (!this.lines.has(context)) {
      const line = new Line(context, () => this.hasSteps(context));
      line.changed.connect((_, before) => {
        this._changed.emit(context);
        if (hasEnded(before, line.live)) {
          this._ended.emit(context);
        }
      });
      this.lines.set(context, line);
      context.disposed.connect(() => this.lines.delete(context));
    }
    // before that the cells are not known
    void panel.context.ready.then(() => this.open(panel));
  }

  private hasSteps(context: ISessionContext): boolean {
    const panel = this.tracker.find(({ sessionContext }) => sessionContext === context);
    if (!panel) {
      return false;
    }
    const cells = textsOf(panel);
    return findLoad(cells) >= 0 || hasSteps(cells);
  }

  private readonly _changed = new Signal<this, ISessionContext>(this);
  private readonly _ended = new Signal<this, ISessionContext>(this);
  private readonly lines = new Map<ISessionContext, Line>();
}

/** A step has ended, perhaps before the kernel was heard. */
function hasEnded(before: Live, now: Live): boolean {
  const isHeard = before.link !== 'open' && now.link === 'open';
  return (
    (before.running !== null && now.running === null) ||
    (isHeard && [...now.held.values()].includes('ran'))
  );
}
