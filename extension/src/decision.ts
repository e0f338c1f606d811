/**
 * What a person fills in about a step, and what of it the server is sent.
 *
 * The rule: nothing is chosen here. What lacks is named, never filled in.
 */

import type { Way } from './runview';

/** The form as it stands. */
export interface Draft {
  /** null: not chosen yet. */
  readonly way: Way | null;
  /** Of an effect that did happen: a Python literal, empty if it is not known. */
  readonly result: string;
  /** NAME = VALUE, one on a line. */
  readonly values: string;
  readonly because: string;
}

export const EMPTY: Draft = { way: null, result: '', values: '', because: '' };

/** What the server takes. */
export interface Decision {
  readonly step: string;
  readonly how: string;
  readonly because: string;
  readonly effect?: string;
  readonly result?: string;
  readonly values?: Readonly<Record<string, string>>;
}

/** What of the form is not filled in, or cannot be read. */
export type Lack =
  | { readonly field: 'way' | 'because' }
  | { readonly field: 'values'; readonly line: string };

/** What else a way out asks for, beside the reason. */
export type Asks = 'result' | 'values' | 'nothing';

type Evidence = Pick<Decision, 'effect' | 'result' | 'values'>;

const EVIDENCE = 'evidence';
const VALUE = /^([\p{L}_][\p{L}\p{N}_]*)\s*=(?!=)\s*(\S.*)$/u;

/** Return what else a way out asks for. */
export function asksFor(way: Way | null): Asks {
  if (way?.how !== EVIDENCE) {
    return 'nothing';
  }
  return way.effect === '' ? 'values' : 'result';
}

/** Return what a form says about a step, or the first thing that it lacks. */
export function decisionOf(draft: Draft, step: string): Decision | Lack {
  const { way } = draft;
  if (way === null) {
    return { field: 'way' };
  }
  const evidence = evidenceOf(draft, way);
  if ('field' in evidence) {
    return evidence;
  }
  const because = draft.because.trim();
  if (because === '') {
    return { field: 'because' };
  }
  return { step, how: way.how, because, ...evidence };
}

function evidenceOf(draft: Draft, way: Way): Evidence | Lack {
  const effect = way.effect === '' ? {} : { effect: way.effect };
  const result = draft.result.trim();
  switch (asksFor(way)) {
    case 'nothing':
      return effect;
    case 'result':
      return result === '' ? effect : { ...effect, result };
    case 'values':
      return valuesOf(draft.values);
  }
}

function valuesOf(typed: string): Evidence | Lack {
  const lines = typed.split('\n').map(line => line.trim());
  const values: Record<string, string> = {};
  for (const line of lines.filter(text => text !== '')) {
    const found = line.match(VALUE);
    if (found === null) {
      return { field: 'values', line };
    }
    values[found[1]] = found[2];
  }
  return Object.keys(values).length > 0 ? { values } : {};
}
