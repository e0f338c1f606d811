/**
 * The run of a notebook as the server sends it: types, and the parser at the border.
 *
 * The rule: this file imports nothing. What cannot be understood is an answer too,
 * never a half-understood view. `tests/data/runview` holds the same views for the
 * tests of both languages.
 */

export const SCHEMA = 1;

export const STATES = [
  'NEW',
  'RUNNING',
  'RAN',
  'FAILED',
  'INTERRUPTED',
  'AMBIGUOUS',
  'COMMITTED',
  'STALE',
  'ORPHANED',
  'ABANDONED',
  'QUARANTINED'
] as const;
export type State = (typeof STATES)[number];

export const PLANS = ['replay', 'rerun', 'refused'] as const;
export type Plan = (typeof PLANS)[number];

/** One step as people see it. */
export interface StepView {
  readonly name: string;
  readonly cellId: string;
  /** Place in notebook order; -1 if the step is not in the notebook. */
  readonly place: number;
  readonly state: State;
  /** Committed: it is replayed, not run. */
  readonly isLocked: boolean;
  readonly plan: Plan;
  readonly reasons: readonly string[];
  /** What to type next, if something has to be decided. */
  readonly remedy: string;
  /** ISO time of the commit; null if none. */
  readonly committedAt: string | null;
  readonly durationS: number | null;
  readonly payloadBytes: number;
  readonly attempts: number;
  /** Names that the commit could not keep, and why. */
  readonly notKept: Readonly<Record<string, string>>;
  readonly effectCount: number;
  readonly openEffects: readonly string[];
}

/** Who writes the run. */
export interface ClaimView {
  readonly pid: number;
  readonly host: string;
  /** null: it cannot be known from the server. */
  readonly isAlive: boolean | null;
}

/** One run as people see it. */
export interface RunView {
  readonly runId: string;
  readonly order: string;
  readonly isTrusted: boolean;
  readonly differs: readonly string[];
  readonly headline: string;
  /** First step without a valid commit; empty if all are committed. */
  readonly resumeFrom: string;
  readonly revision: number;
  readonly steps: readonly StepView[];
  readonly claim: ClaimView | null;
  readonly damaged: readonly number[];
}

/** One record of the audit trail. */
export interface RunEvent {
  readonly revision: number;
  readonly at: string | null;
  readonly step: string;
  readonly actor: string;
  readonly text: string;
  readonly why: string;
  readonly durationS: number | null;
}

/** What was refused, because of what, and what to do: nbresume's errors. */
export interface Refusal {
  readonly message: string;
  readonly because: string;
  readonly remedy: string;
}

/** What is known about the run of a notebook. */
export type Answer =
  | { readonly kind: 'run'; readonly view: RunView }
  | { readonly kind: 'no-run' }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'unreachable'; readonly status: number }
  | { readonly kind: 'unreadable'; readonly because: string };

type Fields = Readonly<Record<string, unknown>>;

class Misshapen extends Error {}

/** Return the answer that a RunView in JSON is. */
export function parseRunView(value: unknown): Answer {
  return guarded(() => {
    const fields = object(value, 'view');
    if (fields.schema !== SCHEMA) {
      throw new Misshapen(`schema ${String(fields.schema)}`);
    }
    return { kind: 'run', view: runView(fields) };
  });
}

/** Return the audit trail; empty if it cannot be understood. */
export function parseEvents(value: unknown): readonly RunEvent[] {
  try {
    return list(value, 'history', runEvent);
  } catch (error) {
    if (error instanceof Misshapen) {
      return [];
    }
    throw error;
  }
}

/** Return the answer that a refusal in JSON is. */
export function parseRefusal(value: unknown): Answer {
  return guarded(() => {
    const fields = object(value, 'refusal');
    return {
      kind: 'refused',
      refusal: {
        message: text(fields, 'message'),
        because: text(fields, 'because'),
        remedy: text(fields, 'remedy')
      }
    };
  });
}

function guarded(parse: () => Answer): Answer {
  try {
    return parse();
  } catch (error) {
    if (error instanceof Misshapen) {
      return { kind: 'unreadable', because: error.message };
    }
    throw error;
  }
}

function runView(fields: Fields): RunView {
  return {
    runId: text(fields, 'run_id'),
    order: text(fields, 'order'),
    isTrusted: flag(fields, 'trusted'),
    differs: list(fields.differs, 'differs', asText),
    headline: text(fields, 'headline'),
    resumeFrom: text(fields, 'resume_from'),
    revision: count(fields, 'revision'),
    steps: list(fields.steps, 'steps', stepView),
    claim: fields.claim === null ? null : claimView(fields.claim),
    damaged: list(fields.damaged, 'damaged', asNumber)
  };
}

function stepView(value: unknown): StepView {
  const fields = object(value, 'step');
  return {
    name: text(fields, 'name'),
    cellId: text(fields, 'cell_id'),
    place: count(fields, 'place'),
    state: oneOf(STATES, fields.state, 'state'),
    isLocked: flag(fields, 'locked'),
    plan: oneOf(PLANS, fields.plan, 'plan'),
    reasons: list(fields.reasons, 'reasons', asText),
    remedy: text(fields, 'remedy'),
    committedAt: orNull(fields.committed_at, asText),
    durationS: orNull(fields.duration_s, asNumber),
    payloadBytes: count(fields, 'payload_bytes'),
    attempts: count(fields, 'attempts'),
    notKept: texts(fields.not_kept, 'not_kept'),
    effectCount: count(fields, 'effect_count'),
    openEffects: list(fields.open_effects, 'open_effects', asText)
  };
}

function claimView(value: unknown): ClaimView {
  const fields = object(value, 'claim');
  return {
    pid: count(fields, 'pid'),
    host: text(fields, 'host'),
    isAlive: fields.alive === null ? null : flag(fields, 'alive')
  };
}

function runEvent(value: unknown): RunEvent {
  const fields = object(value, 'event');
  return {
    revision: count(fields, 'revision'),
    at: orNull(fields.at, asText),
    step: text(fields, 'step'),
    actor: text(fields, 'actor'),
    text: text(fields, 'text'),
    why: text(fields, 'why'),
    durationS: orNull(fields.duration_s, asNumber)
  };
}

function object(value: unknown, name: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Misshapen(`${name} is no object`);
  }
  return value as Fields;
}

function list<T>(
  value: unknown,
  name: string,
  parse: (item: unknown) => T
): readonly T[] {
  if (!Array.isArray(value)) {
    throw new Misshapen(`${name} is no list`);
  }
  return value.map(item => parse(item));
}

function texts(value: unknown, name: string): Readonly<Record<string, string>> {
  const entries = Object.entries(object(value, name));
  return Object.fromEntries(entries.map(([key, item]) => [key, asText(item)]));
}

function text(fields: Fields, name: string): string {
  return asText(fields[name], name);
}

function count(fields: Fields, name: string): number {
  return asNumber(fields[name], name);
}

function flag(fields: Fields, name: string): boolean {
  const value = fields[name];
  if (typeof value !== 'boolean') {
    throw new Misshapen(`${name} is neither true nor false`);
  }
  return value;
}

function asText(value: unknown, name: unknown = 'an item'): string {
  if (typeof value !== 'string') {
    throw new Misshapen(`${String(name)} is no text`);
  }
  return value;
}

function asNumber(value: unknown, name: unknown = 'an item'): number {
  if (typeof value !== 'number') {
    throw new Misshapen(`${String(name)} is no number`);
  }
  return value;
}

function orNull<T>(value: unknown, parse: (item: unknown) => T): T | null {
  return value === null ? null : parse(value);
}

function oneOf<T extends string>(known: readonly T[], value: unknown, name: string): T {
  const found = known.find(item => item === value);
  if (found === undefined) {
    throw new Misshapen(`${name} ${String(value)}`);
  }
  return found;
}
