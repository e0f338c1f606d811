/**
 * The line on which a notebook's kernel tells of its steps.
 *
 * The rule: it listens and sends nothing. A kernel that does not answer, was replaced
 * or ended is one state among others; whoever shows steps has the server's answer.
 */

import type { ISessionContext } from '@jupyterlab/apputils';
import type { Kernel } from '@jupyterlab/services';
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { Live } from './live';
import { ended, NOT_LIVE, told } from './live';

const TARGET = 'nbresume';
/** After these the kernel behind the same connection is another one, or none. */
const GONE: readonly string[] = [
  'restarting',
  'autorestarting',
  'starting',
  'dead',
  'terminating'
];

interface WithSubshell extends Kernel.IComm {
  readonly subshellStarted?: Promise<void>;
}

/** The line to whichever kernel a notebook has. */
export class Line implements IDisposable {
  /**
   * @param isWanted - whether the notebook has steps: a kernel that knows nothing of
   *   them writes a line into the server's log when it is asked
   */
  constructor(
    readonly context: ISessionContext,
    private readonly isWanted: () => boolean
  ) {
    context.statusChanged.connect(this.onStatus, this);
    context.kernelChanged.connect(this.onKernel, this);
    context.connectionStatusChanged.connect(this.onConnection, this);
    context.disposed.connect(this.dispose, this);
    this.open();
  }

  /** Emitted with what was known before. */
  get changed(): ISignal<this, Live> {
    return this._changed;
  }

  get live(): Live {
    return this._live;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Ask the kernel if that is wanted, possible, and not being done. */
  open(): void {
    const kernel = this.context.session?.kernel;
    if (!kernel || this.comm !== null || !canTell(kernel) || !this.isWanted()) {
      return;
    }
    const comm = kernel.createComm(TARGET);
    this.comm = comm;
    comm.onMsg = ({ content }) => {
      if (comm === this.comm) {
        this.set(told(this._live, content.data, Date.now()));
      }
    };
    comm.onClose = () => {
      if (comm === this.comm) {
        this.comm = null;
        this.set(ended(this._live));
      }
    };
    // a kernel that ends before its subshell began says so there, and nobody listens;
    // newer releases of JupyterLab alone have it, and no type tells
    void (comm as WithSubshell).subshellStarted?.catch(() => undefined);
    comm.open();
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this.close();
      Signal.clearData(this);
    }
  }

  private onStatus(_: ISessionContext, status: Kernel.Status): void {
    if (GONE.includes(status)) {
      // the connection disposes of it: what a dying kernel still sends finds its end
      this.forget();
    } else if (status === 'idle' && this._live.link !== 'absent') {
      this.open();
    }
  }

  private onKernel(): void {
    this.forget();
    this.open();
  }

  private onConnection(_: ISessionContext, status: Kernel.ConnectionStatus): void {
    // what the kernel told while the page was away is lost
    if (status === 'connected') {
      this.close();
      this.open();
    }
  }

  private close(): void {
    const { comm } = this;
    this.forget();
    if (
      comm !== null &&
      !comm.isDisposed &&
      !this.context.session?.kernel?.isDisposed
    ) {
      comm.close();
    }
  }

  private forget(): void {
    this.comm = null;
    this.set(NOT_LIVE);
  }

  private set(live: Live): void {
    if (live !== this._live) {
      const before = this._live;
      this._live = live;
      this._changed.emit(before);
    }
  }

  private readonly _changed = new Signal<this, Live>(this);
  private _live = NOT_LIVE;
  private _isDisposed = false;
  private comm: Kernel.IComm | null = null;
}

/** Of several connections of a page to one kernel, one carries comms. */
function canTell(kernel: Kernel.IKernelConnection): boolean {
  return (
    !kernel.isDisposed &&
    kernel.handleComms &&
    kernel.connectionStatus === 'connected' &&
    !GONE.includes(kernel.status)
  );
}
