/**
 * What people read: states, durations, sizes and ages.
 *
 * The rule: the words are those of every other face (`ui/text.py`; a test compares).
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { State } from './runview';

/** How a state looks, beside its word: never by colour alone. */
export type Tone = 'good' | 'doubt' | 'bad' | 'busy' | 'plain';

const KIB = 1024;
const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/** Return the word for a state. */
export function word(state: State, trans: TranslationBundle): string {
  switch (state) {
    case 'NEW':
      return trans.__('new');
    case 'RUNNING':
      return trans.__('running');
    case 'RAN':
      return trans.__('ran, not committed');
    case 'FAILED':
      return trans.__('failed');
    case 'INTERRUPTED':
      return trans.__('interrupted');
    case 'AMBIGUOUS':
      return trans.__('ambiguous (in doubt)');
    case 'COMMITTED':
      return trans.__('committed');
    case 'STALE':
      return trans.__('stale');
    case 'ORPHANED':
      return trans.__('cell is gone');
    case 'ABANDONED':
      return trans.__('abandoned');
    case 'QUARANTINED':
      return trans.__('damaged');
    case 'ERASED':
      return trans.__('erased');
    case 'NOT_TAKEN':
      return trans.__('not taken');
  }
}

/** Return what a step is called: by its name, or as its cell begins. */
export function called({
  name,
  title
}: {
  readonly name: string;
  readonly title: string;
}): string {
  return title === '' ? name : title;
}

/** Return the tone of a state. */
export function tone(state: State): Tone {
  switch (state) {
    case 'COMMITTED':
      return 'good';
    case 'AMBIGUOUS':
    case 'STALE':
    case 'INTERRUPTED':
    case 'RAN':
    case 'ERASED':
      return 'doubt';
    case 'FAILED':
    case 'QUARANTINED':
      return 'bad';
    case 'RUNNING':
      return 'busy';
    case 'NEW':
    case 'ORPHANED':
    case 'ABANDONED':
    case 'NOT_TAKEN':
      return 'plain';
  }
}

/** Return a duration for people: `12 ms`, `3.2 s`, `4 min 10 s`. */
export function duration(seconds: number, trans: TranslationBundle): string {
  if (seconds < 1) {
    return trans.__('%1 ms', String(Math.round(seconds * 1000)));
  }
  if (seconds < MINUTE_S) {
    return trans.__('%1 s', seconds.toFixed(1));
  }
  const whole = Math.round(seconds);
  if (whole < HOUR_S) {
    return trans.__(
      '%1 min %2 s',
      String(Math.floor(whole / MINUTE_S)),
      String(whole % MINUTE_S)
    );
  }
  return trans.__(
    '%1 h %2 min',
    String(Math.floor(whole / HOUR_S)),
    String(Math.floor((whole % HOUR_S) / MINUTE_S))
  );
}

/** Return a size for people: `512 B`, `3.4 MB`. */
export function size(bytes: number): string {
  let amount = bytes;
  for (const unit of ['B', 'kB', 'MB']) {
    if (amount < KIB) {
      return unit === 'B' ? `${amount} B` : `${amount.toFixed(1)} ${unit}`;
    }
    amount /= KIB;
  }
  return `${amount.toFixed(1)} GB`;
}

/** Return how long ago a moment was: `just now`, `5 min ago`, `2 days ago`. */
export function age(at: string, now: Date, trans: TranslationBundle): string {
  const seconds = Math.max(0, (now.getTime() - Date.parse(at)) / 1000);
  if (seconds < MINUTE_S) {
    return trans.__('just now');
  }
  if (seconds < HOUR_S) {
    return trans.__('%1 min ago', String(Math.floor(seconds / MINUTE_S)));
  }
  if (seconds < DAY_S) {
    return trans.__('%1 h ago', String(Math.floor(seconds / HOUR_S)));
  }
  const days = Math.floor(seconds / DAY_S);
  return trans._n('%1 day ago', '%1 days ago', days);
}

/** Return how long something has been going on, without fractions: `7 s`. */
export function elapsed(sinceMs: number, now: Date, trans: TranslationBundle): string {
  const seconds = Math.floor(Math.max(0, now.getTime() - sinceMs) / 1000);
  return seconds < MINUTE_S
    ? trans.__('%1 s', String(seconds))
    : duration(seconds, trans);
}
