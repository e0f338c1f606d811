/** What a kernel tells while steps run. */

import type { Live } from '../live';
import { ended, NOT_LIVE, told } from '../live';

const SESSION = {
  event: 'session',
  run_id: 'r1',
  version: '0.1.0',
  steps: { load: 'ran', clean: 'restored' }
};

const event = (phase: string, name = 'train') => ({
  event: 'step',
  step: name,
  cell_id: 'c4',
  phase,
  at: '2026-11-05T12:00:00Z'
});

const after = (...messages: unknown[]): Live =>
  messages.reduce<Live>((live, message) => told(live, message, 7), NOT_LIVE);

describe('told', () => {
  it('knows how the kernel came to hold each step', () => {
    const live = after(SESSION);

    expect([live.link, live.runId, live.version]).toEqual(['open', 'r1', '0.1.0']);
    expect([...live.held]).toEqual([
      ['load', 'ran'],
      ['clean', 'restored']
    ]);
  });

  it('knows the step that runs, and since when by its own clock', () => {
    expect(after(SESSION, event('running')).running).toEqual({
      step: 'train',
      cellId: 'c4',
      sinceMs: 7,
      progress: null
    });
  });

  it('knows how far the loop of the running step has come', () => {
    const far = { position: 300, total: 1000, text: 'at item 300 of 1000' };
    const begun = after(SESSION, event('running'));

    const live = told(begun, { ...SESSION, progress: { train: far } }, 9);

    expect(live.running).toEqual({ ...begun.running, progress: far });
    expect(told(live, SESSION, 9).running?.progress).toEqual(far);
    const other = told(begun, { ...SESSION, progress: { fit: far } }, 9);
    expect(other.running?.progress).toBeNull();
    expect(told(live, event('running'), 9).running?.progress).toBeNull();
  });

  it.each([
    ['committed', 'ran'],
    ['restored', 'restored'],
    ['failed', undefined],
    ['refused', undefined],
    ['interrupted', undefined]
  ])('a step that %s is held as %s, and runs no more', (phase, held) => {
    const live = after(SESSION, event('running'), event(phase));

    expect([live.running, live.held.get('train')]).toEqual([null, held]);
  });

  it('holds a step as the kernel told it last', () => {
    const live = after(SESSION, event('restored', 'load'), event('failed', 'clean'));

    expect([live.held.get('load'), live.held.get('clean')]).toEqual([
      'restored',
      'restored'
    ]);
  });

  it('a session that is told anew ends no step', () => {
    const live = after(SESSION, event('running'), { ...SESSION, steps: {} });

    expect([live.running?.step, live.held.size]).toEqual(['train', 0]);
  });

  it('what ends is the step that ended', () => {
    const live = after(SESSION, event('running'), event('refused', 'mail'));

    expect(live.running?.step).toBe('train');
  });

  it.each([
    [null],
    ['session'],
    [{ event: 'weather' }],
    [{ ...SESSION, steps: ['load'] }],
    [{ ...SESSION, steps: { load: 'dreamt' } }],
    [{ ...SESSION, run_id: 1 }],
    [event('sleeping')],
    [{ ...event('running'), cell_id: 3 }]
  ])('a message that it cannot understand is another version: %j', message => {
    const live = told(after(SESSION, event('running')), message, 7);

    expect([live.link, live.running]).toEqual(['other', null]);
  });

  it('tells the version that it does not understand', () => {
    const live = after({ ...SESSION, version: '9.0.0', steps: 0 });

    expect([live.link, live.version]).toEqual(['other', '9.0.0']);
  });

  it('changes no earlier value', () => {
    const first = after(SESSION);

    told(first, event('committed'), 7);

    expect(first.held.has('train')).toBe(false);
  });
});

describe('ended', () => {
  it('tells a line that was refused from one that was lost', () => {
    const open = after(SESSION, event('running'));

    expect(ended(NOT_LIVE).link).toBe('absent');
    expect(ended(open)).toEqual({ ...open, link: 'lost', running: null });
    expect(ended(ended(open)).link).toBe('absent');
  });
});
