/** States, durations, sizes and ages in words. */

import type { TranslationBundle } from '@jupyterlab/translation';

import { STATES } from '../runview';
import { age, duration, elapsed, size, tone, word } from '../words';

const fill = (text: string, given: unknown[]): string =>
  text.replace(/%(\d)/g, (_, place: string) => String(given[Number(place) - 1]));

/** English: the parts of a bundle that the words use. */
const trans = {
  __: (text: string, ...given: unknown[]) => fill(text, given),
  _n: (one: string, many: string, n: number) => fill(n === 1 ? one : many, [n])
} as unknown as TranslationBundle;

const NOW = new Date('2026-11-05T12:00:00Z');

describe('word and tone', () => {
  it('tells every state apart by its word', () => {
    const words = STATES.map(state => word(state, trans));

    expect(new Set(words).size).toBe(STATES.length);
    expect(words).not.toContain('');
  });

  it('says that values are gone, which is neither good nor broken', () => {
    expect(word('ERASED', trans)).toBe('erased');
    expect(tone('ERASED')).toBe('doubt');
  });

  it('calls only what is committed good', () => {
    expect(STATES.filter(state => tone(state) === 'good')).toEqual(['COMMITTED']);
  });
});

describe('duration', () => {
  it.each([
    [0.0124, '12 ms'],
    [3.21, '3.2 s'],
    [250, '4 min 10 s'],
    [3 * 3600 + 120, '3 h 2 min']
  ])('says %d seconds', (seconds, said) => {
    expect(duration(seconds, trans)).toBe(said);
  });
});

describe('size', () => {
  it.each([
    [512, '512 B'],
    [3.4 * 1024 ** 2, '3.4 MB'],
    [2048 * 1024 ** 3, '2048.0 GB']
  ])('says %d bytes', (bytes, said) => {
    expect(size(bytes)).toBe(said);
  });
});

describe('age', () => {
  it.each([
    ['2026-11-05T11:59:30Z', 'just now'],
    ['2026-11-05T12:00:30Z', 'just now'],
    ['2026-11-05T11:55:00Z', '5 min ago'],
    ['2026-11-05T09:00:00Z', '3 h ago'],
    ['2026-11-04T11:00:00Z', '1 day ago'],
    ['2026-11-01T12:00:00Z', '4 days ago']
  ])('says of %s', (at, said) => {
    expect(age(at, NOW, trans)).toBe(said);
  });
});

describe('elapsed', () => {
  it.each([
    [NOW.getTime() + 500, '0 s'],
    [NOW.getTime() - 7900, '7 s'],
    [NOW.getTime() - 250_000, '4 min 10 s']
  ])('says of %d', (since, said) => {
    expect(elapsed(since, NOW, trans)).toBe(said);
  });
});
