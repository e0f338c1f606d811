/**
 * What a person fills in about a step, and what of it the server is sent.
 *
 * The rule: nothing is chosen here. What lacks is named, never filled in.
 */

import type { StepView, Way } from './runview';

/** How evidence came about; a person who only says so makes a statement. */
export const KINDS = ['statement', 'receipt', 'query'] as const;
export type Kind = (typeof KINDS)[number];

/** The form as it stands. */
export interface Draft {
  /** null: not chosen yet. */
  readonly way: Way | null;
  readonly kind: Kind;
  /** What proves it: an id, a link; empty if nothing does. */
  readonly reference: string;
  /** Of an effect that did happen: a Python literal, empty if it is not known. */
  readonly result: string;
  /** NAME = VALUE, one on a line. */
  readonly values: string;
  /** Keys of effects that are made anew, one on a line. */
  readonly again: string;
  readonly because: string;
}

export const EMPTY: Draft = {
  way: null,
  kind: 'statement',
  reference: '',
  result: '',
  values: '',
  again: '',
  because: ''
};

/** What the server takes. */
export interface Decision {
  readonly step: string;
  readonly how: string;
  readonly because: string;
  readonly kind?: Kind;
  readonly reference?: string;
  readonly effect?: string;
  readonly result?: string;
  readonly values?: Readonly<Record<string, string>>;
  readonly again?: readonly string[];
}

/** What of the form is not filled in, or cannot be read. */
export type Lack =
  | { readonly field: 'way' | 'because' }
  | { readonly field: 'values'; readonly line: string };

/** What else a way out asks for, beside the reason. */
export type Asks = 'result' | 'values' | 'again' | 'nothing';

type More = Omit<Decision, 'step' | 'how' | 'because'>;

const EVIDENCE = 'evidence';
const RERUN = 'rerun';
const VALUE = /^([\p{L}_][\p{L}\p{N}_]*)\s*=(?!=)\s*(\S.*)$/u;

/** Return what else a way out asks for. */
export function asksFor(way: Way | null): Asks {
  switch (way?.how) {
    case EVIDENCE:
      return way.effect === '' ? 'values' : 'result';
    case RERUN:
      return 'again';
    default:
      return 'nothing';
  }
}

/** Return what a form says about a step, or the first thing that it lacks. */
export function decisionOf(draft: Draft, step: string): Decision | Lack {
  const { way } = draft;
  if (way === null) {
    return { field: 'way' };
  }
  const more = moreOf(draft, way);
  if ('field' in more) {
    return more;
  }
  const because = draft.because.trim();
  if (because === '') {
    return { field: 'because' };
  }
  return { step, how: way.how, because, ...more };
}

/** What was filled in and not recorded: kept for this page, as long as it fits. */
export class Drafts {
  /** Return what was filled in about a step as it stands; `EMPTY` if nothing was. */
  of(path: string, step: StepView): Draft {
    const draft = this.kept.get(keyOf(path, step)) ?? EMPTY;
    const command = draft.way?.command;
    // the view is another one by now; a way out that it has no more is not chosen
    return { ...draft, way: step.ways.find(way => way.command === command) ?? null };
  }

  /** Keep what is filled in; `EMPTY` forgets it. */
  keep(path: string, step: StepView, draft: Draft): void {
    if (isEmpty(draft)) {
      this.kept.delete(keyOf(path, step));
    } else {
      this.kept.set(keyOf(path, step), draft);
    }
  }

  private readonly kept = new Map<string, Draft>();
}

/** Return whether nothing is filled in. */
export function isEmpty(draft: Draft): boolean {
  return JSON.stringify(draft) === JSON.stringify(EMPTY);
}

function keyOf(path: string, { name, startedAt, committedAt }: StepView): string {
  // what was said of one attempt is not said of the next one
  return JSON.stringify([path, name, startedAt, committedAt]);
}

function moreOf(draft: Draft, way: Way): More | Lack {
  const effect = way.effect === '' ? {} : { effect: way.effect };
  switch (asksFor(way)) {
    case 'nothing':
      return effect;
    case 'again': {
      const again = lines(draft.again);
      return again.length > 0 ? { again } : {};
    }
    case 'result': {
      const result = draft.result.trim();
      return { ...proofOf(draft), ...effect, ...(result === '' ? {} : { result }) };
    }
    case 'values': {
      const values = valuesOf(draft.values);
      return 'field' in values ? values : { ...proofOf(draft), ...values };
    }
  }
}

function proofOf(draft: Draft): More {
  const reference = draft.reference.trim();
  return { kind: draft.kind, ...(reference === '' ? {} : { reference }) };
}

function valuesOf(typed: string): More | Lack {
  const values: Record<string, string> = {};
  for (const line of lines(typed)) {
    const found = line.match(VALUE);
    if (found === null) {
      return { field: 'values', line };
    }
    values[found[1]] = found[2];
  }
  return Object.keys(values).length > 0 ? { values } : {};
}

function lines(typed: string): string[] {
  return typed
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');
}
