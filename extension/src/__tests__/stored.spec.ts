/** What the server tells of one step is understood whole, or not at all. */

import { readFileSync } from 'fs';
import { join } from 'path';

import { parseExplained, parsePlan, parseStepDetails } from '../runview';

/** Return what Python's tests wrote. */
function golden(name: string): unknown {
  const file = join(__dirname, `../../../tests/data/told/${name}.json`);
  return JSON.parse(readFileSync(file, 'utf-8'));
}

describe('the golden answers of the server', () => {
  it('are understood', () => {
    expect(parseStepDetails(golden('step'))).toMatchObject({
      step: 'load',
      commitNumber: 1,
      outputs: [
        { name: 'x', kind: 'list', preview: { 'text/plain': '[1, 2]' }, notKept: '' },
        { name: 'z', notKept: 'Python cannot store code that is half-way through' }
      ],
      shown: [{ 'text/plain': 'two rows\n' }],
      shownLeftOut: 0
    });
    expect(parsePlan(golden('plan'))?.steps.map(s => [s.step, s.verdict])).toEqual([
      ['load', 'rerun'],
      ['mail', 'refused'],
      ['fit', 'rerun']
    ]);
    const explained = parseExplained(golden('explained'));
    expect(explained?.cues.map(cue => cue.isChanged)).toEqual([false, null]);
    expect(explained?.ways.map(way => way.how)).toEqual(['rerun']);
    const edited = parseExplained(golden('explained_edit'));
    expect(edited?.cues[0].diff).toEqual(['@@ -1 +1 @@', '-x = k', '+x = k + 1']);
  });
});

const DETAILS = {
  step: 'fit',
  commit_number: 2,
  committed_at: '2026-11-05T12:00:00Z',
  code: '%%step fit\ny = x',
  outputs: [
    {
      name: 'y',
      kind: 'numpy.ndarray',
      dtype: 'float64',
      shape: [3, 2],
      size_bytes: 48,
      not_kept: '',
      preview: { 'text/plain': 'array' }
    },
    {
      name: 'f',
      kind: '',
      dtype: '',
      shape: null,
      size_bytes: 0,
      not_kept: 'an open file',
      preview: {}
    }
  ],
  shown: [{ 'image/png': 'iVBORw0KGgo=' }],
  shown_left_out: 1
};

describe('parseStepDetails', () => {
  it('keeps what was stored, and what could not be kept', () => {
    const details = parseStepDetails(DETAILS);

    expect(details?.outputs.map(o => [o.name, o.shape, o.notKept])).toEqual([
      ['y', [3, 2], ''],
      ['f', null, 'an open file']
    ]);
    expect(details?.shown).toEqual(DETAILS.shown);
    expect(details?.shownLeftOut).toBe(1);
  });

  it('is null if a part cannot be understood', () => {
    expect(parseStepDetails({ ...DETAILS, shown: [{ 'text/plain': 1 }] })).toBeNull();
  });
});

describe('parsePlan', () => {
  const step = {
    step: 'fit',
    cell_id: 'c1',
    verdict: 'run',
    duration_s: null,
    why: 'new'
  };
  const plan = { headline: '0 of 1 steps locked', differs: [], steps: [step] };

  it('keeps the order of the steps', () => {
    const found = parsePlan({ ...plan, steps: [step, { ...step, step: 'mail' }] });

    expect(found?.steps.map(s => s.step)).toEqual(['fit', 'mail']);
  });

  it('is null for a verdict of a later release', () => {
    expect(parsePlan({ ...plan, steps: [{ ...step, verdict: 'later' }] })).toBeNull();
  });
});

describe('parseExplained', () => {
  const cue = { cue: 'its code', then: 'a1', now: 'b2', is_changed: true, text: 'was' };
  const explained = {
    step: 'fit',
    verdict: 'rerun',
    sentence: 'it runs: its code changed',
    cues: [cue, { ...cue, cue: 'input x', is_changed: null }],
    ways: []
  };

  it('tells changed, unchanged and not known apart', () => {
    expect(parseExplained(explained)?.cues.map(c => c.isChanged)).toEqual([true, null]);
  });

  it('keeps what something was and is, if the server tells it', () => {
    const shown = { ...cue, then_shown: '12 rows', now_shown: '13 rows' };
    const cues = parseExplained({ ...explained, cues: [cue, shown] })?.cues;

    expect(cues?.map(c => [c.thenShown, c.nowShown, c.diff])).toEqual([
      ['', '', []],
      ['12 rows', '13 rows', []]
    ]);
  });

  it('is null if a part cannot be understood', () => {
    const bad = { ...explained, cues: [{ ...cue, is_changed: 'no' }] };

    expect(parseExplained(bad)).toBeNull();
  });
});
