/** Which cells are read-only, and what their badges say. */

import { readFileSync } from 'fs';
import { join } from 'path';

import type { Held } from '../live';
import { badgeOf, badgeOfCopy, commitOf, Unlocked } from '../locks';
import type { StepView } from '../runview';
import { parseRunView } from '../runview';

function golden(name: string): readonly StepView[] {
  const file = join(__dirname, `../../../tests/data/runview/${name}.json`);
  const answer = parseRunView(JSON.parse(readFileSync(file, 'utf-8')));
  return answer.kind === 'run' ? answer.view.steps : [];
}

const COMMITTED = golden('committed')[0];
const WITH_EFFECTS = { ...COMMITTED, hasEffects: true };
const LATER = { ...COMMITTED, committedAt: '2026-11-06T12:00:00Z' };

const badge = (step: StepView, held?: Held, unlocked = new Unlocked()) =>
  badgeOf(step, held, { unlocked, locksAfterRecovery: true }, 'c1');

describe('badgeOf', () => {
  it.each<[string, StepView, Held | undefined, string, boolean]>([
    ['ran here', COMMITTED, 'ran', 'ran', false],
    ['ran here, acts on the outside', WITH_EFFECTS, 'ran', 'ran', true],
    ['restored', COMMITTED, 'restored', 'restored', true],
    ['committed by an earlier kernel', COMMITTED, undefined, 'committed', true]
  ])('%s', (_, step, held, kind, isLocked) => {
    expect(badge(step, held)).toMatchObject({ kind, isLocked, step: step.name });
  });

  it.each([
    'new',
    'stale',
    'erased',
    'failed',
    'interrupted',
    'ambiguous',
    'ran',
    'running'
  ])('leaves what would run alone: %s', name => {
    const others = golden(name).filter(({ state }) => state !== 'COMMITTED');

    expect(others.length).toBeGreaterThan(0);
    expect(others.map(step => badge(step, 'ran'))).toEqual(others.map(() => null));
  });

  it('leaves a committed step alone that a person lets run again', () => {
    expect(badge({ ...COMMITTED, plan: 'rerun' }, 'ran')).toBeNull();
  });
});

describe('badgeOf, by setting', () => {
  it('locks nothing after a recovery but what acts on the outside', () => {
    const locking = { unlocked: new Unlocked(), locksAfterRecovery: false };

    const plain = badgeOf(COMMITTED, 'restored', locking, 'c1');
    expect(plain).toMatchObject({ kind: 'restored', isLocked: false });
    expect(badgeOf(WITH_EFFECTS, 'restored', locking, 'c1')?.isLocked).toBe(true);
  });
});

describe('Unlocked', () => {
  it('takes a lock off until the next commit, in that cell alone', () => {
    const unlocked = new Unlocked();
    unlocked.add('c1', commitOf(COMMITTED));

    expect(badge(COMMITTED, 'restored', unlocked)).toMatchObject({
      kind: 'unlocked',
      isLocked: false
    });
    expect(badge(LATER, 'restored', unlocked)?.isLocked).toBe(true);
    const locking = { unlocked, locksAfterRecovery: true };
    expect(badgeOf(COMMITTED, 'restored', locking, 'c2')?.isLocked).toBe(true);
  });

  it('says nothing of a cell that would not be locked', () => {
    const unlocked = new Unlocked();
    unlocked.add('c1', commitOf(COMMITTED));

    expect(badge(COMMITTED, 'ran', unlocked)?.kind).toBe('ran');
  });
});

describe('badgeOfCopy', () => {
  it('names the name, and locks nothing', () => {
    expect(badgeOfCopy('fetch')).toMatchObject({ kind: 'copy', step: 'fetch' });
    expect(badgeOfCopy('fetch').isLocked).toBe(false);
  });
});
