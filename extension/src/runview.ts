/**
 * The run of a notebook as the server sends it: types, and the parser at the border.
 *
 * The rule: it imports parsers and nothing else. What cannot be understood is an
 * answer too, never a half-understood view. `tests/data/runview` holds the same views
 * for the tests of both languages.
 */

import {
  Misshapen,
  asNumber,
  asText,
  count,
  flag,
  list,
  object,
  oneOf,
  orNull,
  text,
  texts
} from './fields';
import type { Fields } from './fields';
import { way } from './stored';
import type { Way } from './stored';

export { parseEvents } from './events';
export type { RunEvent } from './events';
export { parseExplained, parsePlan, parseStepDetails } from './stored';
export type {
  Cue,
  Explained,
  MimeBundle,
  OutputDetails,
  PlanView,
  PlannedStep,
  StepDetails,
  Verdict,
  Way
} from './stored';

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
  'QUARANTINED',
  'ERASED',
  'NOT_TAKEN'
] as const;
export type State = (typeof STATES)[number];

export const PLANS = ['replay', 'rerun', 'not taken', 'refused'] as const;
export type Plan = (typeof PLANS)[number];

/** How far the loops of a step have come that is not committed. */
export interface Progress {
  readonly position: number;
  /** -1: it is not known. */
  readonly total: number;
  /** In words, of loops in each other too. */
  readonly text: string;
}

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
  /** The ways out, if something has to be decided. */
  readonly ways: readonly Way[];
  /** What a person is told before settling it. */
  readonly evidence: readonly string[];
  /** ISO time of the attempt whose outcome is unknown; null if none. */
  readonly startedAt: string | null;
  /** ISO time of the commit; null if none. */
  readonly committedAt: string | null;
  readonly durationS: number | null;
  readonly payloadBytes: number;
  readonly attempts: number;
  /** Names that the commit could not keep, and why. */
  readonly notKept: Readonly<Record<string, string>>;
  /** It declared effects, has some on record, or is locked like one that did. */
  readonly hasEffects: boolean;
  readonly effectCount: number;
  readonly openEffects: readonly string[];
  /** Names that the commit holds. */
  readonly outputs: readonly string[];
  /** Its author lets it run each time: at every resume, too. */
  readonly isAlways: boolean;
  /** A resume may begin below it. */
  readonly holds: boolean;
  /** How far it had come, if it is running or was cut off in a loop. */
  readonly progress: Progress | null;
  /** First words of its cell, if nobody gave it a name; else empty. */
  readonly title: string;
}

/** Of which run a run is a fork. */
export interface Origin {
  readonly run: string;
  /** The step behind which it begins. */
  readonly at: string;
}

/** Who writes the run. */
export interface ClaimView {
  readonly pid: number;
  readonly host: string;
  /** The release of nbresume in that kernel, as in "nbresume 0.1.0". */
  readonly product: string;
  /** null: it cannot be known from the server. */
  readonly isAlive: boolean | null;
}

/** One run as people see it. */
export interface RunView {
  readonly runId: string;
  /** The release of nbresume in the server. */
  readonly version: string;
  /** Where the notebook lay at the last claim. */
  readonly notebook: string;
  readonly order: string;
  readonly isTrusted: boolean;
  readonly differs: readonly string[];
  readonly headline: string;
  /** First step that does not hold; empty if all do. */
  readonly resumeFrom: string;
  readonly revision: number;
  readonly steps: readonly StepView[];
  readonly claim: ClaimView | null;
  readonly damaged: readonly number[];
  /** null: it is no fork. */
  readonly origin: Origin | null;
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
    version: text(fields, 'version'),
    notebook: text(fields, 'notebook'),
    order: text(fields, 'order'),
    isTrusted: flag(fields, 'trusted'),
    differs: list(fields.differs, 'differs', asText),
    headline: text(fields, 'headline'),
    resumeFrom: text(fields, 'resume_from'),
    revision: count(fields, 'revision'),
    steps: list(fields.steps, 'steps', stepView),
    claim: fields.claim === null ? null : claimView(fields.claim),
    damaged: list(fields.damaged, 'damaged', asNumber),
    origin: orNull(fields.origin ?? null, origin)
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
    ways: list(fields.ways, 'ways', way),
    evidence: list(fields.evidence, 'evidence', asText),
    startedAt: orNull(fields.started_at, asText),
    committedAt: orNull(fields.committed_at, asText),
    durationS: orNull(fields.duration_s, asNumber),
    payloadBytes: count(fields, 'payload_bytes'),
    attempts: count(fields, 'attempts'),
    notKept: texts(fields.not_kept, 'not_kept'),
    hasEffects: flag(fields, 'has_effects'),
    effectCount: count(fields, 'effect_count'),
    openEffects: list(fields.open_effects, 'open_effects', asText),
    outputs: list(fields.outputs, 'outputs', asText),
    isAlways: fields.always === true,
    // a server of an earlier release does not tell
    holds:
      fields.holds === undefined ? fields.plan === 'replay' : flag(fields, 'holds'),
    progress: orNull(fields.progress ?? null, progress),
    title: asText(fields.title ?? '', 'title')
  };
}

function progress(value: unknown): Progress {
  const fields = object(value, 'progress');
  return {
    position: count(fields, 'position'),
    total: count(fields, 'total'),
    text: text(fields, 'text')
  };
}

function origin(value: unknown): Origin {
  const fields = object(value, 'origin');
  return { run: text(fields, 'run'), at: text(fields, 'at') };
}

function claimView(value: unknown): ClaimView {
  const fields = object(value, 'claim');
  return {
    pid: count(fields, 'pid'),
    host: text(fields, 'host'),
    product: text(fields, 'product'),
    isAlive: fields.alive === null ? null : flag(fields, 'alive')
  };
}
