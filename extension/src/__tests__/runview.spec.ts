/** The parser reads the very views that Python's tests write. */

import { readFileSync, readdirSync } from 'fs';
import { join } from 'path';

import { STATES, parseEvents, parseRefusal, parseRunView } from '../runview';
import type { Answer, RunView } from '../runview';

const GOLDEN = join(__dirname, '../../../tests/data/runview');
const NAMES = readdirSync(GOLDEN).map(file => file.replace('.json', ''));

interface Raw {
  [field: string]: unknown;
  steps: { name: string; state: string; locked: boolean }[];
}

function raw(name: string): Raw {
  return JSON.parse(readFileSync(join(GOLDEN, `${name}.json`), 'utf-8')) as Raw;
}

function viewOf(answer: Answer): RunView {
  if (answer.kind !== 'run') {
    throw new Error(`no view: ${JSON.stringify(answer)}`);
  }
  return answer.view;
}

describe('parseRunView', () => {
  it.each(NAMES)('understands the golden view %s', name => {
    const written = raw(name);

    const view = viewOf(parseRunView(written));

    expect(view.headline).toBe(written.headline);
    expect(view.resumeFrom).toBe(written.resume_from);
    expect(view.steps.map(s => [s.name, s.state, s.isLocked])).toEqual(
      written.steps.map(s => [s.name, s.state, s.locked])
    );
  });

  it('knows every state that the golden views show', () => {
    const seen = new Set(NAMES.flatMap(name => raw(name).steps.map(s => s.state)));

    expect(STATES.filter(state => !seen.has(state))).toEqual(['QUARANTINED']);
    expect([...seen].filter(state => !STATES.some(s => s === state))).toEqual([]);
  });

  it('tells who holds the run, and what is in doubt', () => {
    const view = viewOf(parseRunView(raw('ambiguous')));

    expect(view.version).toBe('0.0.0');
    expect(view.claim).toEqual({
      pid: 100,
      host: 'host-1',
      product: 'nbresume test',
      isAlive: false
    });
    expect(view.steps[1]).toMatchObject({
      name: 'mail',
      plan: 'refused',
      reasons: ['it declared --effects'],
      remedy: '%steps resolve mail retry | evidence | abandon --because TEXT',
      evidence: [
        'it declared --effects',
        'how long it took is not known: it was cut off'
      ],
      startedAt: '2026-11-05T12:00:00Z',
      hasEffects: true
    });
  });

  it('names the ways out of a step in doubt, also of one effect', () => {
    const { ways } = viewOf(parseRunView(raw('effects'))).steps[1];

    expect(ways.map(way => [way.how, way.effect])).toEqual([
      ['retry', ''],
      ['evidence', ''],
      ['abandon', ''],
      ['evidence', 'to-b']
    ]);
    expect(ways[0].command).toBe('%steps resolve mail retry --because TEXT');
    expect(ways[0].text).toContain('may be called once more');
  });

  it('tells how far a step had come, its first words, and the origin of a fork', () => {
    const looping = viewOf(parseRunView(raw('looping')));
    const automatic = viewOf(parseRunView(raw('automatic')));

    expect(looping.steps.find(({ name }) => name === 'fit')?.progress).toEqual({
      position: 600,
      total: 1000,
      text: 'at item 600 of 1000'
    });
    expect(automatic.steps.map(({ name, title }) => [name, title])).toEqual([
      ['cell-c1', 'the rows of June'],
      ['cell-c2', 'total = sum(rows)'],
      ['fit', '']
    ]);
    expect(looping.origin).toBeNull();
    expect(viewOf(parseRunView(raw('forked'))).origin?.at).toBe('load');
  });

  it('shows the run of an earlier release, which tells less', () => {
    const { origin, ...written } = raw('looping');
    const steps = written.steps.map(step => {
      const { progress, title, ...less } = step as Record<string, unknown>;
      return less;
    });

    const view = viewOf(parseRunView({ ...written, steps }));

    expect(view.steps.map(({ progress, title }) => [progress, title])).toEqual(
      steps.map(() => [null, ''])
    );
    expect(view.origin).toBeNull();
  });

  it.each([
    ['another schema', { ...raw('new'), schema: 2 }, 'schema 2'],
    ['no object', [], 'view is no object'],
    [
      'a field that is missing',
      { ...raw('new'), headline: undefined },
      'headline is no text'
    ],
    ['a state of a later release', withState('LATER'), 'state LATER']
  ])('does not half understand %s', (_, value, because) => {
    expect(parseRunView(value)).toEqual({ kind: 'unreadable', because });
  });
});

describe('parseRefusal', () => {
  it('keeps what was refused, why, and what to do', () => {
    const refusal = { message: 'a', because: 'b', remedy: 'c' };

    expect(parseRefusal({ kind: 'refused', ...refusal })).toEqual({
      kind: 'refused',
      refusal
    });
  });

  it('does not take the error page of another program for one', () => {
    expect(parseRefusal({ message: 'Not Found' }).kind).toBe('unreadable');
  });
});

describe('parseEvents', () => {
  const event = {
    revision: 3,
    at: '2026-11-05T12:00:00Z',
    step: 'fit',
    actor: 'someone',
    text: 'began',
    why: 'new',
    duration_s: null
  };

  it('keeps the order of the records', () => {
    const found = parseEvents([event, { ...event, revision: 4 }]);

    expect(found.map(({ revision }) => revision)).toEqual([3, 4]);
  });

  it('shows none if one cannot be understood', () => {
    expect(parseEvents([event, {}])).toEqual([]);
  });
});

function withState(state: string): Raw {
  const view = raw('new');
  return { ...view, steps: [{ ...view.steps[0], state }] };
}
