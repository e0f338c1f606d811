/**
 * What a kernel tells of its steps while they run: messages → one frozen value.
 *
 * The rule: this file imports nothing. A message that cannot be understood says that
 * the kernel speaks another version, and is told as that; the server's answer stays.
 */

export const PHASES = [
  'running',
  'committed',
  'restored',
  'not taken',
  'failed',
  'refused',
  'interrupted'
] as const;
export type Phase = (typeof PHASES)[number];

export const HELD = ['ran', 'restored'] as const;
/** How a kernel came to hold what a committed step made. */
export type Held = (typeof HELD)[number];

/**
 * How the page hears the kernel.
 *
 * none: there is no kernel, or it was not asked; open; absent: nbresume is not loaded
 * in it; lost: it was open and ended though the kernel did not; other: it speaks
 * another version.
 */
export type Link = 'none' | 'open' | 'absent' | 'lost' | 'other';

/** The step that runs now. */
export interface Running {
  readonly step: string;
  readonly cellId: string;
  /** When it began, in milliseconds of this page's clock. */
  readonly sinceMs: number;
  /** How far its loop has come; null: it has saved none since then. */
  readonly progress: Progress | null;
}

/** How far a loop has come. */
export interface Progress {
  readonly position: number;
  /** -1: it is not known. */
  readonly total: number;
  readonly text: string;
}

/** What is known from the kernel itself. */
export interface Live {
  readonly link: Link;
  readonly runId: string;
  /** Version of nbresume in the kernel; empty: not told. */
  readonly version: string;
  readonly held: ReadonlyMap<string, Held>;
  readonly running: Running | null;
}

export const NOT_LIVE: Live = {
  link: 'none',
  runId: '',
  version: '',
  held: new Map(),
  running: null
};

/** Return what is known after a message of the kernel. */
export function told(live: Live, message: unknown, nowMs: number): Live {
  const fields = fieldsOf(message);
  switch (fields?.event) {
    case 'session':
      return (
        session(live, fields) ?? {
          ...NOT_LIVE,
          link: 'other',
          version: versionOf(fields)
        }
      );
    case 'step':
      return step(live, fields, nowMs) ?? { ...live, link: 'other', running: null };
    default:
      return { ...live, link: 'other', running: null };
  }
}

/** Return what is known when the kernel's line has ended, and the kernel has not. */
export function ended(live: Live): Live {
  // what it held it still holds; a line that was never open was refused: the kernel
  // does not know its name
  return { ...live, link: live.link === 'open' ? 'lost' : 'absent', running: null };
}

function session({ running }: Live, fields: Fields): Live | null {
  const steps = fieldsOf(fields.steps);
  const { run_id: runId, version } = fields;
  if (steps === null || typeof runId !== 'string' || typeof version !== 'string') {
    return null;
  }
  const held = new Map<string, Held>();
  for (const [name, how] of Object.entries(steps)) {
    const known = HELD.find(word => word === how);
    if (known === undefined) {
      return null;
    }
    held.set(name, known);
  }
  const far = running === null ? null : progressOf(fields.progress, running.step);
  return {
    link: 'open',
    runId,
    version,
    held,
    running: running !== null && far !== null ? { ...running, progress: far } : running
  };
}

/** Return how far a step has come, if the message tells that. */
function progressOf(value: unknown, step: string): Progress | null {
  const { position, total, text } = fieldsOf(fieldsOf(value)?.[step]) ?? {};
  return typeof position === 'number' &&
    typeof total === 'number' &&
    typeof text === 'string'
    ? { position, total, text }
    : null;
}

function step(live: Live, fields: Fields, nowMs: number): Live | null {
  const { step: name, cell_id: cellId } = fields;
  const phase = PHASES.find(word => word === fields.phase);
  if (phase === undefined || typeof name !== 'string' || typeof cellId !== 'string') {
    return null;
  }
  if (phase === 'running') {
    return { ...live, running: { step: name, cellId, sinceMs: nowMs, progress: null } };
  }
  const running = live.running?.step === name ? null : live.running;
  // the kernel tells a replay of what it ran itself as committed
  const how = { committed: 'ran', restored: 'restored' } as const;
  return phase === 'committed' || phase === 'restored'
    ? { ...live, running, held: new Map(live.held).set(name, how[phase]) }
    : { ...live, running };
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : null;
}

function versionOf(fields: Fields): string {
  return typeof fields.version === 'string' ? fields.version : '';
}
