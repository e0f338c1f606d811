/** Which cell is what. */

import { CellIndex, codeOf, findLoad, hasSteps, namesOf, stepOf } from '../cells';

const code = (id: string, source: string) => ({ id, isCode: true, source });
const text = (id: string, source: string) => ({ id, isCode: false, source });

const CELLS = [
  text('t', '%%step no'),
  code('l', 'import os\n%load_ext nbresume'),
  code('a', '%%step fetch\nx = 1'),
  code('b', '# why\n\n%%step --effects mail'),
  code('c', 'x + 1')
];

describe('stepOf', () => {
  it('reads the header below comments and behind options', () => {
    expect(CELLS.map(stepOf)).toEqual([null, null, 'fetch', 'mail', null]);
  });

  it.each([
    ['%%step --reads data/in.csv --after a,b fetch', 'fetch'],
    ["%%step --reads 'my data.csv' fetch --pure", 'fetch'],
    ['%%step --reads=in.csv fetch', 'fetch'],
    ['  %%step fetch', 'fetch'],
    ['%%step', null],
    ['%%step --effects', null],
    ['%%stepper fetch', null],
    ['x = 1\n%%step fetch', null]
  ])('%s', (source, name) => {
    expect(stepOf(code('a', source))).toBe(name);
  });
});

describe('hasSteps', () => {
  it.each([
    ['%%step fetch\nx = 1', true],
    ['%load_ext nbresume\n%nbresume auto', true],
    ['%nbresume auto on  # all of them', true],
    ['%nbresume auto off', false],
    ['print("%nbresume auto")', false]
  ])('%s', (source, is) => {
    expect(hasSteps([code('a', source)])).toBe(is);
    expect(hasSteps([text('a', source)])).toBe(false);
  });
});

describe('namesOf', () => {
  it('names a cell without a header as the kernel does, if its id is a plain one', () => {
    const cells = [...CELLS, code('Upper', 'x'), code('f'.repeat(60), 'x')];

    expect(namesOf(cells)).toEqual(['cell-l', 'fetch', 'mail', 'cell-c']);
  });
});

describe('find', () => {
  it('goes by the id, whatever the cell says', () => {
    expect(new CellIndex(CELLS).find('c', 'fetch')).toBe(4);
  });

  it('goes by the name where the id is not known', () => {
    expect(new CellIndex(CELLS).find('step:mail', 'mail')).toBe(3);
    expect(new CellIndex(CELLS).find('', 'gone')).toBe(-1);
  });
});

describe('cells of one id', () => {
  const TWINS = [code('c', '%%step one'), code('c', '%%step two'), code('c', 'x')];

  it('are told apart by their names', () => {
    expect(
      ['one', 'two', 'gone'].map(name => new CellIndex(TWINS).find('c', name))
    ).toEqual([0, 1, 0]);
  });
});

describe('copies and owners', () => {
  const ORIGINAL = code('a', '%%step fetch\nx = 1');
  const COPY = code('b', '%%step Fetch\nx = 2');
  const OTHER = code('c', '%%step clean');

  it('leaves the name to the cell that had it, wherever the copy stands', () => {
    const owners = new CellIndex([ORIGINAL, OTHER]).owners(new Map());

    expect([...new CellIndex([COPY, ORIGINAL, OTHER]).copies(owners)]).toEqual([
      [0, 'Fetch']
    ]);
    expect([...new CellIndex([ORIGINAL, COPY, COPY]).copies(owners)]).toEqual([
      [1, 'Fetch'],
      [2, 'Fetch']
    ]);
  });

  it('keeps that in mind while there are two, and forgets a cell that is gone', () => {
    const owners = new CellIndex([ORIGINAL]).owners(new Map());

    expect(new CellIndex([COPY, ORIGINAL]).owners(owners).get('fetch')).toBe('a');
    expect(new CellIndex([COPY]).owners(owners).get('fetch')).toBe('b');
  });

  it('takes the first for the owner where nothing is known', () => {
    const owners = new CellIndex([COPY, ORIGINAL]).owners(new Map());

    expect([...new CellIndex([COPY, ORIGINAL]).copies(owners)]).toEqual([[1, 'fetch']]);
  });
});

describe('findLoad', () => {
  it('finds the line in a cell of code only', () => {
    expect(findLoad(CELLS)).toBe(1);
    expect(
      findLoad([text('t', '%load_ext nbresume'), code('c', '%load_ext other')])
    ).toBe(-1);
  });
});

describe('codeOf', () => {
  it('changes with the order and the text of code, and with nothing else', () => {
    const [first, load, fetch, ...rest] = CELLS;
    const same = [text('t', 'new words'), load, fetch, ...rest];

    expect(codeOf(same)).toBe(codeOf(CELLS));
    expect(codeOf([first, fetch, load, ...rest])).not.toBe(codeOf(CELLS));
    expect(codeOf([first, load, code('a', '%%step fetch'), ...rest])).not.toBe(
      codeOf(CELLS)
    );
  });
});
