/** Where the run goes on, in the notebook as it is open. */

import { readFileSync } from 'fs';
import { join } from 'path';

import type { CellText } from '../cells';
import { CellIndex } from '../cells';
import * as marker from '../marker';
import type { RunView, StepView } from '../runview';
import { parseRunView } from '../runview';

function golden(name: string): RunView {
  const file = join(__dirname, `../../../tests/data/runview/${name}.json`);
  const answer = parseRunView(JSON.parse(readFileSync(file, 'utf-8')));
  if (answer.kind !== 'run') {
    throw new Error(name);
  }
  return answer.view;
}

const firstOf = (cells: CellText[], view: RunView) =>
  marker.firstOf(new CellIndex(cells), view);
const markerOf = (cells: CellText[], view: RunView) =>
  marker.markerOf(new CellIndex(cells), view);

const BASE = golden('committed');
const NEW = golden('new').steps[0];

/** A run of steps at the places of their cells; `+` in front: it is committed. */
function run(...names: string[]): RunView {
  const steps: StepView[] = names.map((name, place) => {
    const isCommitted = name.startsWith('+');
    const base = isCommitted ? BASE.steps[0] : NEW;
    return { ...base, name: name.replace('+', ''), cellId: `id-${place}`, place };
  });
  const point = steps.find(({ holds }) => !holds);
  return { ...BASE, steps, resumeFrom: point?.name ?? '', revision: 3 };
}

const step = (id: string, name: string) => ({
  id,
  isCode: true,
  source: `%%step ${name}`
});
const plain = (id: string) => ({ id, isCode: true, source: 'x = 1' });
const words = (id: string) => ({ id, isCode: false, source: 'text' });

describe('firstOf', () => {
  it('is the cell right below the last committed step, plain or text', () => {
    const view = run('+one', '+two', 'three');
    const cells = [
      step('id-0', 'one'),
      plain('p'),
      step('id-1', 'two'),
      words('w'),
      plain('q'),
      step('id-2', 'three')
    ];

    expect(firstOf(cells, view)).toBe(3);
  });

  it('is the first cell of all when nothing is committed', () => {
    const cells = [words('w'), plain('p'), step('id-0', 'one')];

    expect(firstOf(cells, run('one', '+two'))).toBe(0);
  });

  it('counts a committed step where it stands now', () => {
    const view = run('+one', '+two', 'three');
    const moved = [step('id-1', 'two'), plain('p'), step('id-0', 'one'), plain('q')];

    // `two` was moved up, and then `one` below the step that runs next
    expect(firstOf([...moved, step('id-2', 'three')], view)).toBe(3);
    const below = [step('id-1', 'two'), plain('p'), step('id-2', 'three')];
    expect(firstOf([...below, step('id-0', 'one')], view)).toBe(1);
  });

  it('tells cells of one id apart by their names', () => {
    const view = run('+one', '+two', 'three');
    const twins = {
      ...view,
      steps: view.steps.map(each => ({ ...each, cellId: 'same' }))
    };
    const cells = ['one', 'two', 'three'].map(name => step('same', name));

    expect(firstOf([...cells.slice(0, 2), plain('p'), cells[2]], twins)).toBe(2);
  });

  it('is nowhere when all are committed, or the cell is gone', () => {
    expect(firstOf([step('id-0', 'one')], run('+one'))).toBe(-1);
    expect(firstOf([step('id-0', 'one')], run('+one', 'two'))).toBe(-1);
    expect(firstOf([], run('one'))).toBe(-1);
  });
});

describe('alwaysOf', () => {
  const always = golden('always');
  const cells = ['load', 'mail', 'fit'].map(name => step(name, name));

  it('is where the steps above stand that run at every resume', () => {
    const [load] = always.steps;
    const index = new CellIndex([words('w'), ...cells]);

    expect([load.plan, load.isAlways, load.holds]).toEqual(['rerun', true, true]);
    expect(marker.firstOf(index, always)).toBe(3);
    expect(marker.alwaysOf(index, always)).toEqual([1]);
  });

  it('does not count one that stands below, or that is gone', () => {
    const moved = new CellIndex([cells[1], cells[2], cells[0]]);

    expect(marker.firstOf(moved, always)).toBe(1);
    expect(marker.alwaysOf(moved, always)).toEqual([]);
    expect(marker.alwaysOf(new CellIndex(cells.slice(1)), always)).toEqual([]);
  });
});

describe('markerOf', () => {
  const CELLS = [step('id-0', 'one'), plain('p'), step('id-1', 'two')];

  it('marks where Resume begins', () => {
    expect(markerOf(CELLS, run('+one', 'two'))).toEqual({ place: 1, kind: 'goes-on' });
  });

  it('marks the step itself when somebody has to decide', () => {
    const view = run('+one', 'two');
    const [one, two] = view.steps;
    const doubt = { state: 'AMBIGUOUS', plan: 'refused', holds: false } as const;
    const steps: StepView[] = [one, { ...two, ...doubt }];

    expect(markerOf(CELLS, { ...view, steps })).toEqual({ place: 2, kind: 'stopped' });
  });

  it('marks nothing while that step runs, before a run, and at its end', () => {
    const view = run('+one', 'two');
    const [one, two] = view.steps;
    const running: StepView[] = [one, { ...two, state: 'RUNNING' }];

    expect(markerOf(CELLS, { ...view, steps: running })).toBeNull();
    expect(markerOf(CELLS, { ...view, revision: -1 })).toBeNull();
    expect(markerOf(CELLS, run('+one', '+two'))).toBeNull();
    expect(markerOf([plain('p')], view)).toBeNull();
  });
});
