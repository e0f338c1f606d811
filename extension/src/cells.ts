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

const HEADER = /^%%step(?:[ \t]+--[a-z]+)*[ \t]+([A-Za-z0-9_][A-Za-z0-9_.-]*)/;
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
  return first?.match(HEADER)?.[1] ?? null;
}

/** Return where a step's cell is; -1 if it is gone. An id wins over a name. */
export function findStep(
  cells: readonly CellText[],
  cellId: string,
  name: string
): number {
  const byId = cells.findIndex(cell => cell.id === cellId);
  return byId >= 0 ? byId : cells.findIndex(cell => stepOf(cell) === name);
}

/** Return where `%load_ext nbresume` stands; -1 if nowhere. */
export function findLoad(cells: readonly CellText[]): number {
  return cells.findIndex(cell => cell.isCode && LOAD.test(cell.source));
}
