/**
 * Which cells are read-only in the view, and what their badges say.
 *
 * The rule: a lock is a courtesy. It is never more than the kernel's own refusal, it
 * changes no cell, and a person can always take it off.
 */

import type { Held } from './live';
import type { StepView } from './runview';

/**
 * What a cell's badge says.
 *
 * ran: this kernel ran it; restored: this kernel has its values from the store;
 * committed: an earlier kernel ran it, and this one has nothing of it yet; unlocked:
 * a person took the lock off; copy: its name is another cell's.
 */
export type Kind = 'ran' | 'restored' | 'committed' | 'unlocked' | 'copy';

export interface Badge {
  readonly kind: Kind;
  readonly step: string;
  readonly isLocked: boolean;
  readonly hasEffects: boolean;
  /** Tells a commit from the next one of its step; empty: there is none. */
  readonly commit: string;
}

/** What is locked, beside what acts on the outside. */
export interface Locking {
  readonly unlocked: Unlocked;
  /** Cells that an earlier kernel ran. */
  readonly locksAfterRecovery: boolean;
}

/** Return the badge of a step's cell; null: it would run, and so has none. */
export function badgeOf(
  step: StepView,
  held: Held | undefined,
  { unlocked, locksAfterRecovery }: Locking,
  cellId: string
): Badge | null {
  if (step.state !== 'COMMITTED' || step.plan !== 'replay') {
    return null;
  }
  const kind = held ?? 'committed';
  const commit = commitOf(step);
  const isUnlocked = unlocked.has(cellId, commit);
  // as long as the kernel ran it itself, an edit is what people do next
  const wouldLock = (kind !== 'ran' && locksAfterRecovery) || step.hasEffects;
  return {
    kind: wouldLock && isUnlocked ? 'unlocked' : kind,
    step: step.name,
    isLocked: wouldLock && !isUnlocked,
    hasEffects: step.hasEffects,
    commit
  };
}

/** Return the badge of a cell whose name is another cell's. */
export function badgeOfCopy(step: string): Badge {
  return { kind: 'copy', step, isLocked: false, hasEffects: false, commit: '' };
}

/** The locks that a person took off: per page and cell, until the next commit. */
export class Unlocked {
  /** Take the lock of a commit's cell off. */
  add(cellId: string, commit: string): void {
    this.commits.set(cellId, commit);
  }

  /** Return whether the lock of this commit was taken off. */
  has(cellId: string, commit: string): boolean {
    return this.commits.get(cellId) === commit;
  }

  private readonly commits = new Map<string, string>();
}

/** Return what tells a commit of a step from its next one. */
export function commitOf({ name, committedAt }: StepView): string {
  return `${name} ${committedAt ?? ''}`;
}
