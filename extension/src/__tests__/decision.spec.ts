/** What of the form is sent, and what it lacks. */

import type { Draft } from '../decision';
import { EMPTY, asksFor, decisionOf } from '../decision';
import type { Way } from '../runview';

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
      effect: 'charge'
    });
    expect(decisionOf({ ...seen, result: " 'ch_17' " }, 'mail')).toMatchObject({
      effect: 'charge',
      result: "'ch_17'"
    });
  });
});

describe('asksFor', () => {
  it.each([
    [null, 'nothing'],
    [way('retry'), 'nothing'],
    [way('evidence'), 'values'],
    [way('evidence', 'charge'), 'result']
  ])('of %j asks for %s', (chosen, expected) => {
    expect(asksFor(chosen)).toBe(expected);
  });
});
