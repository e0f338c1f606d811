/**
 * The current notebook → the model: which one it is, and when to ask anew.
 *
 * The rule: it asks after something happened (a cell ended, a save, a new kernel),
 * and by the clock only while the sidebar is seen and a cell runs.
 */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';
import type { IDisposable } from '@lumino/disposable';
import { Debouncer, Poll, Throttler } from '@lumino/polling';
import { Signal } from '@lumino/signaling';

import { namesOf } from './cells';
import { isEnabled, isNew, statusOf } from './kernel';
import type { Lines } from './lines';
import type { RunModel } from './model';
import { textsOf } from './notebook';
import type { SavedCode } from './save';

const WHILE_BUSY_MS = 2000;
const AT_MOST_MS = 30000;
const QUIET_MS = 400;

/** Keeps the model on the current notebook. */
export class Follower implements IDisposable {
  constructor(
    private readonly tracker: INotebookTracker,
    private readonly model: RunModel,
    private readonly lines: Lines,
    private readonly saved: SavedCode,
    private readonly isSeen: () => boolean
  ) {
    tracker.currentChanged.connect(this.onCurrent, this);
    // the first notebook becomes current before it is known to be added
    tracker.widgetAdded.connect(this.onCurrent, this);
    NotebookActions.executed.connect(this.onExecuted, this);
    this.poll = new Poll({
      name: 'nbresume:run',
      auto: true,
      factory: () => this.model.refresh(),
      frequency: { interval: WHILE_BUSY_MS, backoff: true, max: AT_MOST_MS },
      standby: () => !this.isSeen() || this.model.kernel.status !== 'busy'
    });
    lines.changed.connect(this.onLine, this);
    this.onCurrent();
  }

  /** The notebook that is followed. */
  get panel(): NotebookPanel | null {
    return this._panel;
  }

  /** Whether its code differs from that of its file, as of now. */
  get isEdited(): boolean {
    return this._panel !== null && this.saved.differs(this._panel);
  }

  get isDisposed(): boolean {
    return this.poll.isDisposed;
  }

  /** Ask anew: the server about the run, the kernel whether nbresume is loaded. */
  async refresh(): Promise<void> {
    await Promise.all([this.model.refresh(), this.askKernel()]);
  }

  dispose(): void {
    if (!this.isDisposed) {
      this.poll.dispose();
      this.edits.dispose();
      this.steps.dispose();
      Signal.clearData(this);
    }
  }

  private onCurrent(): void {
    const panel = this.tracker.currentWidget;
    if (panel === this._panel) {
      return;
    }
    this.leave();
    this._panel = panel;
    this._wasAsked = false;
    if (panel === null) {
      void this.model.follow('');
      return;
    }
    panel.sessionContext.statusChanged.connect(this.onStatus, this);
    panel.sessionContext.kernelChanged.connect(this.onKernel, this);
    panel.context.fileChanged.connect(this.onFile, this);
    panel.context.pathChanged.connect(this.onSaved, this);
    panel.context.saveState.connect(this.compare, this);
    panel.context.model.contentChanged.connect(this.onContent, this);
    void panel.context.ready.then(() => this.onSaved());
    this.onSaved();
  }

  private leave(): void {
    const panel = this._panel;
    if (panel === null || panel.isDisposed) {
      return;
    }
    panel.sessionContext.statusChanged.disconnect(this.onStatus, this);
    panel.sessionContext.kernelChanged.disconnect(this.onKernel, this);
    panel.context.fileChanged.disconnect(this.onFile, this);
    panel.context.pathChanged.disconnect(this.onSaved, this);
    panel.context.saveState.disconnect(this.compare, this);
    panel.context.model.contentChanged.disconnect(this.onContent, this);
  }

  private onFile(): void {
    // of a new name it is told before the path is the new one
    void Promise.resolve().then(() => this.onSaved());
  }

  private onSaved(): void {
    // without the drive: the server knows files by their path alone
    const path = this._panel?.context.localPath ?? '';
    const isOther = path !== this.model.path;
    void this.model.follow(path);
    if (isOther) {
      // with another path the model knows nothing of the kernel
      this._wasAsked = false;
      this.hear();
      void this.askKernel();
    }
    this.compare();
  }

  private onLine(_: Lines, context: ISessionContext): void {
    if (context === this._panel?.sessionContext) {
      this.hear();
      void this.steps.invoke();
    }
  }

  /** Take what the kernel tells by itself. */
  private hear(): void {
    if (this._panel !== null) {
      const live = this.lines.liveOf(this._panel);
      const before = this.model.live.link;
      this.model.setLive(live);
      if (live.link === 'open') {
        this.model.setKernel({ status: this.status(), isEnabled: true });
      } else if (live.link === 'absent' && before === 'lost') {
        // it may have been unloaded
        this._wasAsked = false;
        this.model.setKernel({ status: this.status(), isEnabled: null });
        void this.askKernel();
      }
    }
  }

  private onContent(): void {
    // also each character of an output: looked at when it has been quiet
    void this.edits.invoke();
  }

  private compare(): void {
    this.model.setEdited(this.isEdited);
    const cells = this._panel === null ? [] : textsOf(this._panel);
    this.model.setOpenSteps(namesOf(cells));
  }

  private onExecuted(
    _: unknown,
    { notebook }: { notebook: NotebookPanel['content'] }
  ): void {
    if (notebook === this._panel?.content) {
      void this.refresh();
    }
  }

  private onKernel(): void {
    this._wasAsked = false;
    this.model.setKernel({ status: this.status(), isEnabled: null });
    void this.refresh();
  }

  private onStatus(_: ISessionContext, status: string): void {
    const before = this.model.kernel;
    // the connection stays the same when the kernel behind it is a new one
    const isOther = isNew(status);
    this.model.setKernel({
      status: this.status(),
      isEnabled: isOther ? null : before.isEnabled
    });
    if (isOther) {
      this._wasAsked = false;
      void this.model.refresh();
    } else if (status === 'idle' && !this._wasAsked) {
      void this.askKernel();
    }
  }

  private status(): ReturnType<typeof statusOf> {
    return statusOf(this._panel?.sessionContext.session?.kernel ?? null);
  }

  private async askKernel(): Promise<void> {
    const panel = this._panel;
    const kernel = panel?.sessionContext.session?.kernel ?? null;
    const { isEnabled: known } = this.model.kernel;
    if (kernel === null || known === true || !this.isSeen() || this._isAsking) {
      this.model.setKernel({ status: this.status(), isEnabled: known });
      return;
    }
    this._isAsking = true;
    // the question itself makes the kernel busy and idle: it must not ask for more
    this._wasAsked = true;
    try {
      const found = await isEnabled(kernel);
      if (panel !== null && panel === this._panel) {
        this.model.setKernel({ status: this.status(), isEnabled: found });
        if (found === true) {
          this.lines.open(panel);
        }
      }
    } catch {
      // the kernel ended before it answered: its next status says so
    } finally {
      this._isAsking = false;
    }
  }

  private readonly poll: Poll;
  private readonly edits = new Debouncer(() => this.compare(), QUIET_MS);
  /** A step began or ended: the server has news. */
  private readonly steps = new Throttler(() => this.model.refresh(), {
    limit: QUIET_MS,
    edge: 'trailing'
  });
  private _panel: NotebookPanel | null = null;
  private _isAsking = false;
  private _wasAsked = false;
}
