/**
 * The audit trail of a run as the server sends it.
 *
 * The rule: it imports parsers and nothing else.
 */

import {
  Misshapen,
  asNumber,
  asText,
  count,
  list,
  object,
  orNull,
  text
} from './fields';

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
