/**
 * What the sidebar shows: one notebook, its run, its kernel.
 *
 * The rule: it knows no DOM and no notebook widget. Whoever changes it says so by
 * one signal. An answer about a notebook that is no longer followed is dropped.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { Live } from './live';
import { NOT_LIVE } from './live';
import type { Answer, RunEvent, StepView } from './runview';

/** What the model asks: the client, or a fake. */
export interface IRunClient {
  run(path: string): Promise<Answer>;
  history(path: string): Promise<readonly RunEvent[]>;
}

/** The notebook's kernel as it looks from the page. */
export interface KernelFacts {
  readonly status: 'none' | 'idle' | 'busy' | 'dead';
  /** Whether `%load_ext nbresume` has run in it; null: not known. */
  readonly isEnabled: boolean | null;
}

const NO_KERNEL: KernelFacts = { status: 'none', isEnabled: null };

/** The notebook that the sidebar follows. */
export class RunModel {
  constructor(private readonly client: IRunClient) {}

  /** Emitted after each change. */
  get stateChanged(): ISignal<this, void> {
    return this._stateChanged;
  }

  /** Path of the notebook; empty: none is open. */
  get path(): string {
    return this._path;
  }

  /** What is known about its run; null: not asked yet. */
  get answer(): Answer | null {
    return this._answer;
  }

  /** The audit trail, oldest first; null while it is folded. */
  get events(): readonly RunEvent[] | null {
    return this._events;
  }

  get kernel(): KernelFacts {
    return this._kernel;
  }

  /** What the kernel itself tells: it is newer than the answer while a step runs. */
  get live(): Live {
    return this._live;
  }

  /** nbresume is in the kernel, and yet nothing is heard of it. */
  get isDeaf(): boolean {
    const { link } = this._live;
    return link === 'other' || (link === 'absent' && this._kernel.isEnabled === true);
  }

  /** Code cells differ from those of the file, which is what the server reads. */
  get isEdited(): boolean {
    return this._isEdited;
  }

  /** Names of the steps in the notebook as it is open. */
  get openSteps(): ReadonlySet<string> {
    return this._openSteps;
  }

  /** The step where the run goes on; null if all are committed or none is known. */
  get resumePoint(): StepView | null {
    if (this._answer?.kind !== 'run') {
      return null;
    }
    const { resumeFrom, steps } = this._answer.view;
    return steps.find(step => step.name === resumeFrom) ?? null;
  }

  /** There is something to go on with, and a kernel that can do it now. */
  get canResume(): boolean {
    return (
      this._answer?.kind === 'run' &&
      this._answer.view.revision >= 0 &&
      this.resumePoint?.plan === 'rerun' &&
      this._kernel.status === 'idle'
    );
  }

  /** There is something that a kernel could bind. */
  get hasCommitted(): boolean {
    return (
      this._answer?.kind === 'run' &&
      this._answer.view.steps.some(({ place, isLocked }) => place >= 0 && isLocked)
    );
  }

  /** What the kernel said when it was asked to resume; empty: nothing to tell. */
  get said(): string {
    return this._said;
  }

  /** Follow a notebook by its path; empty: none. */
  async follow(path: string): Promise<void> {
    if (path !== this._path) {
      this._path = path;
      this._answer = null;
      this._events = null;
      this._kernel = NO_KERNEL;
      this._live = NOT_LIVE;
      this._isEdited = false;
      this._openSteps = new Set();
      this._said = '';
    }
    await this.refresh();
  }

  /** Ask anew. Of answers that overtake each other the newest question counts. */
  async refresh(): Promise<void> {
    const question = ++this._questions;
    const path = this._path;
    if (path === '') {
      this._stateChanged.emit();
      return;
    }
    const [answer, events] = await Promise.all([
      this.client.run(path),
      this._isTrailShown ? this.client.history(path) : null
    ]);
    if (question === this._questions) {
      this._answer = answer;
      this._events = events;
      this._stateChanged.emit();
    }
  }

  /** Show or fold the audit trail. */
  async showTrail(isShown: boolean): Promise<void> {
    if (isShown !== this._isTrailShown) {
      this._isTrailShown = isShown;
      await this.refresh();
    }
  }

  /** Take what the page knows about the notebook's kernel. */
  setKernel(facts: KernelFacts): void {
    const { status, isEnabled } = this._kernel;
    if (facts.status !== status || facts.isEnabled !== isEnabled) {
      this._kernel = facts;
      this._stateChanged.emit();
    }
  }

  /** Take what the kernel told of its steps. */
  setLive(live: Live): void {
    if (live !== this._live) {
      this._live = live;
      this._stateChanged.emit();
    }
  }

  /** Take whether code cells were changed since the file was written. */
  setEdited(isEdited: boolean): void {
    if (isEdited !== this._isEdited) {
      this._isEdited = isEdited;
      this._stateChanged.emit();
    }
  }

  /** Take which steps the notebook has as it is open. */
  setOpenSteps(names: readonly string[]): void {
    const known = this._openSteps;
    if (names.length !== known.size || names.some(name => !known.has(name))) {
      this._openSteps = new Set(names);
      this._stateChanged.emit();
    }
  }

  /** Take what the kernel said; empty: it was read. */
  setSaid(said: string): void {
    if (said !== this._said) {
      this._said = said;
      this._stateChanged.emit();
    }
  }

  private readonly _stateChanged = new Signal<this, void>(this);
  private _path = '';
  private _answer: Answer | null = null;
  private _events: readonly RunEvent[] | null = null;
  private _kernel: KernelFacts = NO_KERNEL;
  private _live: Live = NOT_LIVE;
  private _isEdited = false;
  private _openSteps: ReadonlySet<string> = new Set();
  private _said = '';
  private _isTrailShown = false;
  private _questions = 0;
}
