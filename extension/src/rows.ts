/**
 * Which rows of a long list are in the page.
 *
 * The rule: arithmetic only; what is measured comes in. Rows may differ in height, so
 * a place is the sum of the heights above it.
 */

/** What has to be in the page, in pixels from the top of the list. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A row that is in the page, and the pixels of rows left out right above it. */
export interface Placed {
  readonly index: number;
  readonly gap: number;
}

/** Rows in the page, and the pixels of rows left out below the last of them. */
export interface Window {
  readonly rows: readonly Placed[];
  readonly below: number;
}

const MARGIN_PX = 300;
const GRID_PX = 150;

/**
 * Return the span for what is seen of a list, with a margin above and below.
 *
 * On a grid, so that most scroll events change nothing.
 */
export function spanOf(top: number, height: number): Span {
  return {
    from: Math.floor((top - MARGIN_PX) / GRID_PX) * GRID_PX,
    to: Math.ceil((top + height + MARGIN_PX) / GRID_PX) * GRID_PX
  };
}

/** Return the rows that a span touches, and those that are held whatever is seen. */
export function windowOf(
  heights: readonly number[],
  span: Span,
  held: readonly number[]
): Window {
  const rows: Placed[] = [];
  let top = 0;
  let gap = 0;
  heights.forEach((height, index) => {
    const isSeen = top < span.to && top + height > span.from;
    if (isSeen || held.includes(index)) {
      rows.push({ index, gap });
      gap = 0;
    } else {
      gap += height;
    }
    top += height;
  });
  return { rows, below: gap };
}

/** Return the place that a key leads to from a row; null if it is no such key. */
export function placeAfter(key: string, index: number, count: number): number | null {
  switch (key) {
    case 'ArrowDown':
      return Math.min(index + 1, count - 1);
    case 'ArrowUp':
      return Math.max(index - 1, 0);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return null;
  }
}
