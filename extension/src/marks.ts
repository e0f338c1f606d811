/**
 * The badges, locks and mark of one view of a notebook.
 *
 * The rule: what a cell shows follows from its text, the run and the kernel, and is
 * put there anew when that has changed; nothing is kept in the notebook's document,
 * except the locks that `lockInMetadata` asks for.
 */

import type { Cell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import { Throttler } from '@lumino/polling';
import { Signal } from '@lumino/signaling';

import type { CellIndex } from './cells';
import type { Live } from './live';
import type { Badge, Unlocked } from './locks';
import { badgeOf, badgeOfCopy, commitOf } from './locks';
import { markerOf } from './marker';
import { indexOf } from './notebook';
import { isMarked, mark, setReadOnly, unmark } from './readonly';
import type { RunView, StepView } from './runview';
import type { Shown } from './strip';
import { Strip } from './strip';
import type { Wishes } from './wishes';

const AT_MOST_EVERY_MS = 150;
/** What a person does to a cell's text. */
const EDITS = ['beforeinput', 'paste', 'cut', 'drop', 'dblclick'] as const;

/** What all views of a page share. */
export interface Shared {
  readonly unlocked: Unlocked;
  readonly live: () => Live;
  readonly wishes: () => Wishes;
  readonly hasUnlocked: () => void;
}

/** What was done to a cell. */
interface Decorated {
  isAwaited: boolean;
  /** What it is to show once it has parts. */
  wanted: Shown;
  strip: Strip | null;
  /** What its strip shows. */
  key: string;
  badge: Badge | null;
  /** The commit for which the metadata had our lock. */
  marked: string;
}

const NOTHING = JSON.stringify({ badge: null, marker: null } satisfies Shown);

/** Decorates the cells of one view. */
export class Marks implements IDisposable {
  constructor(
    private readonly panel: NotebookPanel,
    private readonly trans: TranslationBundle,
    private readonly shared: Shared
  ) {
    panel.context.model.contentChanged.connect(this.update, this);
    panel.content.activeCellChanged.connect(this.withdraw, this);
    for (const kind of EDITS) {
      panel.content.node.addEventListener(kind, this.onEdit, true);
    }
  }

  get view(): RunView | null {
    return this._view;
  }

  get isDisposed(): boolean {
    return this.throttler.isDisposed;
  }

  /** Take what the server says of the run; null: there is none. */
  setView(view: RunView | null): void {
    if (view !== this._view) {
      this._view = view;
      this.update();
    }
  }

  /** Look at the cells anew, soon. */
  update(): void {
    if (!this.isDisposed) {
      void this.throttler.invoke();
    }
  }

  /** Take the lock off the cell of a step; return whether it is there. */
  unlock(name: string): boolean {
    const index = indexOf(this.panel);
    const step = this._view?.steps.find(each => each.name === name);
    const place = step ? this.placeOf(step, index) : -1;
    if (!step || place < 0) {
      return false;
    }
    this.shared.unlocked.add(index.cells[place].id, commitOf(step));
    this.decorate();
    this.shared.hasUnlocked();
    return true;
  }

  dispose(): void {
    if (!this.isDisposed) {
      this.throttler.dispose();
      Signal.clearData(this);
    }
  }

  private decorate(): void {
    const { panel } = this;
    if (panel.isDisposed || !panel.context.isReady) {
      return;
    }
    const index = indexOf(panel);
    const badges = this.badges(index);
    const marker = this._view === null ? null : markerOf(index, this._view);
    panel.content.widgets.forEach((cell, place) => {
      const badge = badges.get(place) ?? null;
      const isMarked = marker?.place === place;
      this.show(cell, { badge, marker: isMarked ? marker.kind : null });
    });
  }

  private badges(index: CellIndex): ReadonlyMap<number, Badge> {
    const steps = this._view?.steps.filter(({ place }) => place >= 0) ?? [];
    const stored = steps.map(step => [step.name.toLowerCase(), step.cellId] as const);
    this.owners = index.owners(new Map([...stored, ...this.owners]));
    const badges = new Map<number, Badge>();
    for (const [place, name] of index.copies(this.owners)) {
      badges.set(place, badgeOfCopy(name));
    }
    const { live, unlocked, wishes } = this.shared;
    const { held, runId } = live();
    const locking = { unlocked, locksAfterRecovery: wishes().lockAfterRecovery };
    for (const step of steps) {
      const place = this.placeOf(step, index);
      const how = runId === this._view?.runId ? held.get(step.name) : undefined;
      if (place >= 0 && !badges.has(place)) {
        const badge = badgeOf(step, how, locking, index.cells[place].id);
        if (badge !== null) {
          badges.set(place, badge);
        }
      }
    }
    return badges;
  }

  /** Where a step's cell is; of cells with one name, the one that had it first. */
  private placeOf({ name, cellId }: StepView, index: CellIndex): number {
    return index.find(this.owners.get(name.toLowerCase()) ?? cellId, name);
  }

  private show(cell: Cell, { badge: wanted, marker }: Shown): void {
    const known = this.stateOf(cell);
    known.wanted = { badge: wanted, marker };
    const badge = this.lock(cell, wanted, known);
    const key = JSON.stringify({ badge, marker } satisfies Shown);
    known.badge = badge;
    if (key === known.key) {
      return;
    }
    if (cell.isPlaceholder()) {
      // in a windowed notebook a cell has no parts before it is scrolled to
      if (!known.isAwaited) {
        known.isAwaited = true;
        // alone: cells become ready one by one, and reading all anew each time was felt
        void cell.ready.then(() => this.onReady(cell));
      }
      return;
    }
    known.key = key;
    known.strip ??= this.stripFor(cell);
    known.strip.show({ badge, marker });
  }

  private onReady(cell: Cell): void {
    const known = this.decorated.get(cell);
    if (known !== undefined && !this.isDisposed && !cell.isDisposed) {
      this.show(cell, known.wanted);
    }
  }

  /** Lock a cell or not, in the view and in the metadata; return its badge then. */
  private lock(cell: Cell, wanted: Badge | null, known: Decorated): Badge | null {
    const { model } = cell;
    const { unlocked, wishes, live } = this.shared;
    const { lockInMetadata } = wishes();
    let badge = wanted;
    if (badge?.isLocked && known.marked === badge.commit && !isMarked(model)) {
      // taken off in another window, or by the command
      unlocked.add(model.id, badge.commit);
      badge = { ...badge, kind: 'unlocked', isLocked: false };
    }
    const isLocked = badge?.isLocked === true;
    const isCopy = badge?.kind === 'copy';
    // what the kernel will say of the step must not write into the notebook twice
    const isKnown = this.view !== null && (live().link !== 'none' || !this.hasKernel);
    if (isLocked && lockInMetadata && isKnown && !isMarked(model)) {
      mark(model);
    } else if (
      isMarked(model) &&
      (isCopy || (isKnown && !(isLocked && lockInMetadata)))
    ) {
      unmark(model);
      known.marked = '';
    }
    if (badge !== null && isMarked(model)) {
      known.marked = badge.commit;
    }
    setReadOnly(cell, isLocked);
    return badge;
  }

  private get hasKernel(): boolean {
    return !!this.panel.sessionContext.session?.kernel;
  }

  private stateOf(cell: Cell): Decorated {
    const known = this.decorated.get(cell);
    if (known !== undefined) {
      return known;
    }
    const fresh = {
      isAwaited: false,
      wanted: { badge: null, marker: null },
      strip: null,
      key: NOTHING,
      badge: null,
      marked: ''
    };
    this.decorated.set(cell, fresh);
    return fresh;
  }

  private stripFor(cell: Cell): Strip {
    const strip = new Strip(() => this.onUnlock(cell), this.trans);
    const header = cell.node.querySelector(':scope > .jp-CellHeader');
    header?.classList.add('jp-nbresume-header');
    header?.append(strip.node);
    return strip;
  }

  private onUnlock(cell: Cell): void {
    const badge = this.decorated.get(cell)?.badge;
    if (badge && this.unlock(badge.step)) {
      const { content } = this.panel;
      content.activeCellIndex = content.widgets.indexOf(cell);
      // the button is gone, and with it the focus
      cell.activate();
    }
  }

  private readonly onEdit = (event: Event): void => {
    const { target } = event;
    if (
      !(target instanceof Element) ||
      target.closest('.jp-InputArea-editor') === null
    ) {
      return;
    }
    const cell = this.panel.content.widgets.find(({ node }) => node.contains(target));
    const known = cell && this.decorated.get(cell);
    if (known?.badge?.isLocked) {
      known.strip?.offer(known.badge);
    }
  };

  private withdraw(): void {
    for (const cell of this.panel.content.widgets) {
      this.decorated.get(cell)?.strip?.withdraw();
    }
  }

  private readonly throttler = new Throttler(() => this.decorate(), {
    limit: AT_MOST_EVERY_MS,
    edge: 'trailing'
  });
  private readonly decorated = new WeakMap<Cell, Decorated>();
  private owners: ReadonlyMap<string, string> = new Map();
  private _view: RunView | null = null;
}
