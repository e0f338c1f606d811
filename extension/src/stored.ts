/**
 * What the server tells of one step, and of what running all of them would do.
 *
 * The rule: it imports parsers and nothing else; what cannot be understood is null.
 */

import {
  Misshapen,
  asFlag,
  asNumber,
  asText,
  count,
  list,
  object,
  oneOf,
  orNull,
  text,
  texts
} from './fields';

/** One way out of a step that waits for a person. */
export interface Way {
  /** The word that `POST decide` takes; empty if it is typed into the notebook. */
  readonly how: string;
  /** What one would type. */
  readonly command: string;
  /** One sentence: what it means. */
  readonly text: string;
  /** Key of the effect that it settles; empty for the whole step. */
  readonly effect: string;
}

/** MIME type → what to show; images are base64. */
export type MimeBundle = Readonly<Record<string, string>>;

/** One name that a commit holds, or could not keep. */
export interface OutputDetails {
  readonly name: string;
  /** Class of the value. */
  readonly kind: string;
  readonly dtype: string;
  /** null: it has none. */
  readonly shape: readonly number[] | null;
  readonly sizeBytes: number;
  /** Why it was not kept; empty if it was. */
  readonly notKept: string;
  /** Empty if none was made. */
  readonly preview: MimeBundle;
}

/** What the commit of a step stored. */
export interface StepDetails {
  readonly step: string;
  readonly commitNumber: number;
  readonly committedAt: string;
  /** The text of the cell, as it ran. */
  readonly code: string;
  readonly outputs: readonly OutputDetails[];
  /** What the cell showed, in order; large ones are left out. */
  readonly shown: readonly MimeBundle[];
  readonly shownLeftOut: number;
}

export const VERDICTS = ['run', 'rerun', 'replay', 'not taken', 'refused'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** What running all cells would do with one step. */
export interface PlannedStep {
  readonly step: string;
  readonly cellId: string;
  readonly verdict: Verdict;
  /** How long it took last time. */
  readonly durationS: number | null;
  readonly why: string;
  /** First words of its cell, if nobody gave it a name; else empty. */
  readonly title: string;
}

/** What running all cells would do. */
export interface PlanView {
  readonly headline: string;
  readonly differs: readonly string[];
  readonly steps: readonly PlannedStep[];
}

/** One thing that a commit depends on, as it was and as it is. */
export interface Cue {
  /** "its code", "input x", "after load". */
  readonly cue: string;
  readonly then: string;
  readonly now: string;
  /** null: it is known only when the step runs. */
  readonly isChanged: boolean | null;
  readonly text: string;
  /** What it was and is, in short: a preview, a size; empty if nothing tells it. */
  readonly thenShown: string;
  readonly nowShown: string;
  /** Of the code, line by line. */
  readonly diff: readonly string[];
}

/** Why a step is replayed, run or refused. */
export interface Explained {
  readonly step: string;
  readonly verdict: Verdict;
  readonly sentence: string;
  readonly cues: readonly Cue[];
  readonly ways: readonly Way[];
}

/** Return what the commit of a step stored; null if it cannot be understood. */
export function parseStepDetails(value: unknown): StepDetails | null {
  return understood(value, item => {
    const fields = object(item, 'step');
    return {
      step: text(fields, 'step'),
      commitNumber: count(fields, 'commit_number'),
      committedAt: text(fields, 'committed_at'),
      code: text(fields, 'code'),
      outputs: list(fields.outputs, 'outputs', output),
      shown: list(fields.shown, 'shown', shown => texts(shown, 'shown')),
      shownLeftOut: count(fields, 'shown_left_out')
    };
  });
}

/** Return what running all cells would do; null if it cannot be understood. */
export function parsePlan(value: unknown): PlanView | null {
  return understood(value, item => {
    const fields = object(item, 'plan');
    return {
      headline: text(fields, 'headline'),
      differs: list(fields.differs, 'differs', asText),
      steps: list(fields.steps, 'steps', planned)
    };
  });
}

/** Return why a step would run, or not; null if it cannot be understood. */
export function parseExplained(value: unknown): Explained | null {
  return understood(value, item => {
    const fields = object(item, 'explained');
    return {
      step: text(fields, 'step'),
      verdict: oneOf(VERDICTS, fields.verdict, 'verdict'),
      sentence: text(fields, 'sentence'),
      cues: list(fields.cues, 'cues', cue),
      ways: list(fields.ways, 'ways', way)
    };
  });
}

/** Return one way out. Raises `Misshapen`. */
export function way(value: unknown): Way {
  const fields = object(value, 'way');
  return {
    how: text(fields, 'how'),
    command: text(fields, 'command'),
    text: text(fields, 'text'),
    effect: text(fields, 'effect')
  };
}

function output(value: unknown): OutputDetails {
  const fields = object(value, 'output');
  return {
    name: text(fields, 'name'),
    kind: text(fields, 'kind'),
    dtype: text(fields, 'dtype'),
    shape: orNull(fields.shape, shape => list(shape, 'shape', asNumber)),
    sizeBytes: count(fields, 'size_bytes'),
    notKept: text(fields, 'not_kept'),
    preview: texts(fields.preview, 'preview')
  };
}

function planned(value: unknown): PlannedStep {
  const fields = object(value, 'planned step');
  return {
    step: text(fields, 'step'),
    cellId: text(fields, 'cell_id'),
    verdict: oneOf(VERDICTS, fields.verdict, 'verdict'),
    durationS: orNull(fields.duration_s, asNumber),
    why: text(fields, 'why'),
    title: asText(fields.title ?? '', 'title')
  };
}

function cue(value: unknown): Cue {
  const fields = object(value, 'cue');
  return {
    cue: text(fields, 'cue'),
    then: text(fields, 'then'),
    now: text(fields, 'now'),
    isChanged: orNull(fields.is_changed, asFlag),
    text: text(fields, 'text'),
    // a server of an earlier release does not tell
    thenShown: asText(fields.then_shown ?? '', 'then_shown'),
    nowShown: asText(fields.now_shown ?? '', 'now_shown'),
    diff: list(fields.diff ?? [], 'diff', asText)
  };
}

function understood<T>(value: unknown, parse: (value: unknown) => T): T | null {
  try {
    return parse(value);
  } catch (error) {
    if (error instanceof Misshapen) {
      return null;
    }
    throw error;
  }
}
