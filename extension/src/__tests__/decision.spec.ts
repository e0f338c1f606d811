/** What of the form is sent, and what it lacks. */

import { readFileSync } from 'fs';
import { join } from 'path';

import type { Draft } from '../decision';
import { Drafts, EMPTY, asksFor, decisionOf, isEmpty } from '../decision';
import { parseRunView } from '../runview';
import type { StepView, Way } from '../runview';

function golden(name: string): readonly StepView[] {
  const file = join(__dirname, `../../../tests/data/runview/${name}.json`);
  const answer = parseRunView(JSON.parse(readFileSync(file, 'utf-8')));
  return answer.kind === 'run' ? answer.view.steps : [];
}

const way = (how: string, effect = ''): Way => ({ how, effect, command: '', text: '' });

const draft = (part: Partial<Draft>): Draft => ({ ...EMPTY, ...part });

describe('decisionOf', () => {
  it('chooses nothing', () => {
    expect(decisionOf(EMPTY, 'mail')).toEqual({ field: 'way' });
    expect(decisionOf(draft({ because: 'I know' }), 'mail')).toEqual({ field: 'way' });
  });

  it('asks for a reason, which blanks are not', () => {
    const found = decisionOf(draft({ way: way('retry'), because: ' \n ' }), 'mail');

    expect(found).toEqual({ field: 'because' });
  });

  it('sends the way out and the reason', () => {
    const found = decisionOf(
      draft({ way: way('retry'), because: ' no mail arrived\n', values: 'x = 1' }),
      'mail'
    );

    expect(found).toEqual({ step: 'mail', how: 'retry', because: 'no mail arrived' });
  });

  it('sends values with evidence for a whole step', () => {
    const values = "receipt = 'a = b'\n\n n=3\n größe = None";

    const found = decisionOf(
      draft({ way: way('evidence'), because: 'seen', values, result: '7' }),
      'mail'
    );

    expect(found).toEqual({
      step: 'mail',
      how: 'evidence',
      because: 'seen',
      kind: 'statement',
      values: { receipt: "'a = b'", n: '3', größe: 'None' }
    });
  });

  it.each(['receipt', '3 = 4', 'a == b', 'a =', '= 3'])('does not take %s', line => {
    const found = decisionOf(
      draft({ way: way('evidence'), because: 'seen', values: `ok = 1\n${line}` }),
      'mail'
    );

    expect(found).toEqual({ field: 'values', line });
  });

  it('sends the effect that evidence is about, and its result if it is known', () => {
    const one = way('evidence', 'charge');
    const seen = draft({ way: one, because: 'seen', values: 'not for this one' });

    expect(decisionOf(seen, 'mail')).toEqual({
      step: 'mail',
      how: 'evidence',
      because: 'seen',
      kind: 'statement',
      effect: 'charge'
    });
    expect(decisionOf({ ...seen, result: " 'ch_17' " }, 'mail')).toMatchObject({
      effect: 'charge',
      result: "'ch_17'"
    });
  });
});

describe('decisionOf, of what else is asked', () => {
  it('sends how it is known, and what proves it, with evidence alone', () => {
    const proof = { because: 'seen', kind: 'receipt', reference: ' ch_17 ' } as const;

    for (const one of [way('evidence'), way('evidence', 'charge')]) {
      expect(decisionOf(draft({ ...proof, way: one }), 'mail')).toMatchObject({
        kind: 'receipt',
        reference: 'ch_17'
      });
    }
    expect(decisionOf(draft({ ...proof, way: way('retry') }), 'mail')).toEqual({
      step: 'mail',
      how: 'retry',
      because: 'seen'
    });
  });

  it('sends which effects are made anew with a rerun alone', () => {
    const typed = { because: 'wrong', again: 'card\n\n  mail to a  \n' };

    expect(decisionOf(draft({ ...typed, way: way('rerun') }), 'pay')).toEqual({
      step: 'pay',
      how: 'rerun',
      because: 'wrong',
      again: ['card', 'mail to a']
    });
    expect(
      decisionOf(draft({ because: 'x', way: way('rerun') }), 'pay')
    ).not.toHaveProperty('again');
    expect(
      decisionOf(draft({ ...typed, way: way('retry') }), 'pay')
    ).not.toHaveProperty('again');
  });
});

describe('Drafts', () => {
  const [, mail] = golden('ambiguous');
  const filled = draft({ way: mail.ways[0], because: 'no mail arrived' });

  it('keep what was filled in for the next time', () => {
    const drafts = new Drafts();
    drafts.keep('a.ipynb', mail, filled);

    // by then the view is another one
    const later = { ...mail, ways: mail.ways.map(one => ({ ...one })) };
    const found = drafts.of('a.ipynb', later);
    expect(found.because).toBe('no mail arrived');
    expect(found.way).toBe(later.ways[0]);
    expect(isEmpty(found)).toBe(false);
  });

  it('are of one notebook, one step and one attempt', () => {
    const drafts = new Drafts();
    drafts.keep('a.ipynb', mail, filled);

    expect(isEmpty(drafts.of('b.ipynb', mail))).toBe(true);
    expect(isEmpty(drafts.of('a.ipynb', { ...mail, name: 'other' }))).toBe(true);
    const again = { ...mail, startedAt: '2027-01-01T00:00:00Z' };
    expect(isEmpty(drafts.of('a.ipynb', again))).toBe(true);
    // a way out that there is no more is not chosen, and the words stay
    const fewer = { ...mail, ways: mail.ways.slice(1) };
    expect(drafts.of('a.ipynb', fewer)).toEqual({ ...filled, way: null });
  });

  it('forget what was recorded', () => {
    const drafts = new Drafts();
    drafts.keep('a.ipynb', mail, filled);
    drafts.keep('a.ipynb', mail, EMPTY);

    expect(isEmpty(drafts.of('a.ipynb', mail))).toBe(true);
  });
});

describe('asksFor', () => {
  it.each([
    [null, 'nothing'],
    [way('retry'), 'nothing'],
    [way('evidence'), 'values'],
    [way('evidence', 'charge'), 'result'],
    [way('rerun'), 'again']
  ])('of %j asks for %s', (chosen, expected) => {
    expect(asksFor(chosen)).toBe(expected);
  });
});
