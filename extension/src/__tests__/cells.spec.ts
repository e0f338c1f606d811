/** Which cell is what. */

import { codeOf, findLoad, findStep, stepOf } from '../cells';

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
});

describe('findStep', () => {
  it('goes by the id, whatever the cell says', () => {
    expect(findStep(CELLS, 'c', 'fetch')).toBe(4);
  });

  it('goes by the name where the id is not known', () => {
    expect(findStep(CELLS, 'step:mail', 'mail')).toBe(3);
    expect(findStep(CELLS, '', 'gone')).toBe(-1);
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
