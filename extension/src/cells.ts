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
// as `plan/auto.py` names and reads it
const PLAIN_ID = /^[a-z0-9_.-]{1,59}$/;
const AUTO = /^[ \t]*%nbresume[ \t]+auto(?:[ \t]+on)?[ \t]*(?:#.*)?$/m;
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

/** Return whether a notebook has steps, with headers or without. */
export function hasSteps(cells: readonly CellText[]): boolean {
  return cells.some(cell => stepOf(cell) !== null || (cell.isCode && isAuto(cell)));
}

/** Return the names under which the cells may be steps, with headers or without. */
export function namesOf(cells: readonly CellText[]): readonly string[] {
  return cells
    .filter(({ isCode }) => isCode)
    .map(cell => stepOf(cell) ?? autoNameOf(cell.id))
    .filter(name => name !== null);
}

function isAuto({ source }: CellText): boolean {
  return AUTO.test(source);
}

/** The name of a step without a header; null: the kernel shortens such an id. */
function autoNameOf(id: string): string | null {
  return PLAIN_ID.test(id) ? `cell-${id}` : null;
}

/** The cells of a notebook, looked at once: by id and by the name of their step. */
export class CellIndex {
  constructor(readonly cells: readonly CellText[]) {
    this.names = cells.map(stepOf);
    cells.forEach(({ id }, place) => {
      const name = this.names[place];
      push(this.ofId, id, place);
      if (name !== null) {
        push(this.ofName, name, place);
        // names of steps differ by more than their case
        push(this.carriers, name.toLowerCase(), place);
      }
    });
  }

  /**
   * Return where a step's cell is; -1 if it is gone.
   *
   * An id wins over a name; of cells with one id, as some tools write them, the name.
   */
  find(cellId: string, name: string): number {
    const sameId = this.ofId.get(cellId) ?? [];
    const [first = -1] = sameId.concat(this.ofName.get(name) ?? []);
    return sameId.find(place => this.names[place] === name) ?? first;
  }

  /**
   * Return the cells that carry a name of another cell: their places, and the names.
   *
   * Whose name it is: the cell that had it before there were two, else the first one.
   */
  copies(owners: ReadonlyMap<string, string>): ReadonlyMap<number, string> {
    const copies = new Map<number, string>();
    for (const [key, places] of this.carriers) {
      const owner = owners.get(key);
      const own = places.find(place => this.cells[place].id === owner) ?? places[0];
      for (const place of places.filter(each => each !== own)) {
        copies.set(place, this.names[place] ?? '');
      }
    }
    return copies;
  }

  /** Return whose names these are: those known before, and those of one cell alone. */
  owners(before: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
    const owners = new Map<string, string>();
    for (const [key, places] of this.carriers) {
      const known = before.get(key);
      const isThere = places.some(place => this.cells[place].id === known);
      if (known !== undefined && isThere) {
        owners.set(key, known);
      } else if (places.length === 1) {
        owners.set(key, this.cells[places[0]].id);
      }
    }
    return owners;
  }

  private readonly names: readonly (string | null)[];
  private readonly ofId = new Map<string, number[]>();
  private readonly ofName = new Map<string, number[]>();
  private readonly carriers = new Map<string, number[]>();
}

function push(places: Map<string, number[]>, key: string, place: number): void {
  const known = places.get(key);
  if (known === undefined) {
    places.set(key, [place]);
  } else {
    known.push(place);
  }
}

/** Return where `%load_ext nbresume` stands; -1 if nowhere. */
export function findLoad(cells: readonly CellText[]): number {
  return cells.findIndex(cell => cell.isCode && LOAD.test(cell.source));
}
