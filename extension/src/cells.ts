/**
 * Which cell of an open notebook is what, by its text and id alone.
 *
 * The rule: no widget and no DOM; the header is read as `plan/header.py` reads it.
 */

/** A cell as far as it matters here. */
export interface CellText {
  readonly id: string;
  readonly isCode: boolean;
  readonly source: string;
}

// as a shell splits it, as far as names are concerned
const WORDS = /(?:[^\s"']|"[^"]*"|'[^']*')+/g;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;
const TAKES_NEXT: ReadonlySet<string | undefined> = new Set(['--reads', '--after']);
const LOAD = /^[ \t]*%(?:load|reload)_ext[ \t]+nbresume[ \t]*$/m;

/** Return one text that changes when code cells are edited, moved, added or removed. */
export function codeOf(cells: readonly CellText[]): string {
  const code = cells.filter(({ isCode }) => isCode);
  return JSON.stringify(code.map(({ id, source }) => [id, source]));
}

/** Return the name on a cell's `%%step` line; null if it has none. */
export function stepOf(cell: CellText): string | null {
  if (!cell.isCode) {
    return null;
  }
  // comments and empty lines may stand above the header
  const first = cell.source
    .split('\n')
    .find(line => line.trim() !== '' && !line.trimStart().startsWith('#'));
  const words = first?.match(WORDS) ?? [];
  if (words.shift() !== '%%step') {
    return null;
  }
  const at = words.findIndex(
    (word, place) => !word.startsWith('-') && !TAKES_NEXT.has(words[place - 1])
  );
  return at >= 0 && NAME.test(words[at]) ? words[at] : null;
}

/**
 * Return where a step's cell is; -1 if it is gone.
 *
 * An id wins over a name; of cells with one id, as some tools write them, the name.
 */
export function findStep(
  cells: readonly CellText[],
  cellId: string,
  name: string
): number {
  const has = (cell: CellText): boolean => stepOf(cell) === name;
  const found =
    cells.find(cell => cell.id === cellId && has(cell)) ??
    cells.find(cell => cell.id === cellId) ??
    cells.find(has);
  return found === undefined ? -1 : cells.indexOf(found);
}

/**
 * Return the cells that carry a name of another cell: their places, and the names.
 *
 * Whose name it is: the cell that had it before there were two, else the first one.
 */
export function findCopies(
  cells: readonly CellText[],
  owners: ReadonlyMap<string, string>
): ReadonlyMap<number, string> {
  const copies = new Map<number, string>();
  for (const [key, places] of carriers(cells)) {
    const owner = owners.get(key);
    const own = places.find(place => cells[place].id === owner) ?? places[0];
    for (const place of places) {
      if (place !== own) {
        copies.set(place, stepOf(cells[place]) ?? '');
      }
    }
  }
  return copies;
}

/** Return whose names these are: those known before, and those of one cell alone. */
export function ownersOf(
  cells: readonly CellText[],
  before: ReadonlyMap<string, string>
): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const [key, places] of carriers(cells)) {
    const known = before.get(key);
    const isThere = places.some(place => cells[place].id === known);
    if (known !== undefined && isThere) {
      owners.set(key, known);
    } else if (places.length === 1) {
      owners.set(key, cells[places[0]].id);
    }
  }
  return owners;
}

/** Names of steps differ by more than their case. */
function carriers(cells: readonly CellText[]): Map<string, number[]> {
  const found = new Map<string, number[]>();
  cells.forEach((cell, place) => {
    const key = stepOf(cell)?.toLowerCase();
    if (key !== undefined) {
      found.set(key, [...(found.get(key) ?? []), place]);
    }
  });
  return found;
}

/** Return where `%load_ext nbresume` stands; -1 if nowhere. */
export function findLoad(cells: readonly CellText[]): number {
  return cells.findIndex(cell => cell.isCode && LOAD.test(cell.source));
}
