/**
 * What a person set, in the words of the schema.
 *
 * The rule: each setting is read here, and nowhere is one asked for twice.
 */

import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

/** The settings. */
export interface Wishes {
  /** Load nbresume into kernels that start, if their notebook has steps. */
  readonly autoLoad: boolean;
  /** Offer to resume when a kernel has started that has nothing of its run yet. */
  readonly offerResume: boolean;
  /** Committed cells are read-only after a recovery. */
  readonly lockAfterRecovery: boolean;
  /** Locks are written into the notebook, too. */
  readonly lockInMetadata: boolean;
  /** Save the notebook when a step has ended whose code is not in the file. */
  readonly saveAfterStep: boolean;
}

/** What holds until the settings are read; a test compares it with the schema. */
export const DEFAULTS: Wishes = {
  autoLoad: false,
  offerResume: true,
  lockAfterRecovery: true,
  lockInMetadata: false,
  saveAfterStep: true
};

/** Return what was set; what is no setting of ours, or no boolean, is passed over. */
export function wishesOf(composite: ReadonlyPartialJSONObject): Wishes {
  const known = Object.entries(DEFAULTS).map(([name, otherwise]) => {
    const value = composite[name];
    return [name, typeof value === 'boolean' ? value : otherwise];
  });
  return Object.fromEntries(known) as unknown as Wishes;
}
