/** Which rows of a long list are in the page. */

import { placeAfter, spanOf, windowOf } from '../rows';

const ALL = { from: -1, to: 1e9 };

describe('windowOf', () => {
  it('shows every row of a short list, with no gap', () => {
    expect(windowOf([10, 20, 30], ALL, [])).toEqual({
      rows: [
        { index: 0, gap: 0 },
        { index: 1, gap: 0 },
        { index: 2, gap: 0 }
      ],
      below: 0
    });
  });

  it('leaves out what is not touched, and keeps its height', () => {
    const shown = windowOf([10, 20, 30, 40, 50], { from: 30, to: 60 }, []);

    expect(shown).toEqual({ rows: [{ index: 2, gap: 30 }], below: 90 });
  });

  it('holds a row that is far away, at its place', () => {
    const heights = Array.from({ length: 1000 }, () => 10);

    const shown = windowOf(heights, { from: 5000, to: 5020 }, [3, -1]);

    expect(shown.rows).toEqual([
      { index: 3, gap: 30 },
      { index: 500, gap: 4960 },
      { index: 501, gap: 0 }
    ]);
    expect(shown.below).toBe(4980);
  });

  it('is as high as all rows, wherever one looks', () => {
    const heights = Array.from({ length: 300 }, (_, place) => 20 + (place % 7));
    const whole = heights.reduce((sum, height) => sum + height, 0);

    for (const from of [0, 1234, 5678, 9999]) {
      const { rows, below } = windowOf(heights, { from, to: from + 600 }, [7, 250]);
      const high = rows.reduce((sum, { index, gap }) => sum + gap + heights[index], 0);
      expect(high + below).toBe(whole);
    }
  });

  it('keeps fewer than 100 rows of the height of one line', () => {
    const heights = Array.from({ length: 1000 }, () => 30);

    expect(windowOf(heights, spanOf(7000, 1200), []).rows.length).toBeLessThan(100);
  });
});

describe('spanOf', () => {
  it('stays the same while little is scrolled', () => {
    expect(spanOf(1001, 600)).toEqual(spanOf(1049, 600));
  });

  it('covers more than what is seen', () => {
    const { from, to } = spanOf(1000, 600);

    expect([from <= 700, to >= 1900]).toEqual([true, true]);
  });
});

describe('placeAfter', () => {
  it.each([
    ['ArrowDown', 4, 5],
    ['ArrowDown', 9, 9],
    ['ArrowUp', 4, 3],
    ['ArrowUp', 0, 0],
    ['Home', 4, 0],
    ['End', 4, 9],
    ['Tab', 4, null]
  ])('%s leads from %d to %s', (key, from, to) => {
    expect(placeAfter(key, from, 10)).toBe(to);
  });
});
