/**
 * A list of which only the rows near what is seen are in the page.
 *
 * The rule: for a reader it is the whole list: each row knows its place among all, the
 * row with the focus stays, and the arrow keys lead to rows that were not there yet.
 */

import * as React from 'react';

import type { Span } from './rows';
import { placeAfter, spanOf, windowOf } from './rows';

/** Class of what scrolls. */
export const SCROLLER = 'jp-nbresume-scroll';

const FIRST_GUESS_PX = 48;
const FIRST: Span = { from: 0, to: 900 };
/** Less than this is a rounding, not a change. */
const CHANGE_PX = 0.5;

type Attributes = React.LiHTMLAttributes<HTMLLIElement> &
  Readonly<Record<`data-${string}`, string | number>>;

interface ListProps<T> {
  readonly items: readonly T[];
  readonly keyOf: (item: T) => string;
  /** What stands in the `<li>` of an item. */
  readonly row: (item: T) => JSX.Element;
  /** Attributes of that `<li>`. */
  readonly attributes: (item: T) => Attributes;
  readonly label: string;
  readonly className: string;
  /** Key of the row that is brought into view when the list appears. */
  readonly reveal?: string;
}

/** The list; its nearest ancestor of the class `SCROLLER` scrolls. */
export function LongList<T>(props: ListProps<T>): JSX.Element {
  const { items, keyOf, row, attributes, label, className, reveal } = props;
  const list = React.useRef<HTMLOListElement>(null);
  const measured = React.useRef<Heights>({ known: new Map(), guess: null });
  const wanted = React.useRef<string | null>(null);
  const isRevealed = React.useRef(false);
  const [span, setSpan] = React.useState(FIRST);
  const [focused, setFocused] = React.useState<string | null>(null);
  const [, measure] = React.useReducer((times: number) => times + 1, 0);

  useSpan(list, setSpan);
  React.useLayoutEffect(() => {
    const isNew = remember(list.current, measured.current);
    if (isNew) {
      measure();
    }
    if (wanted.current !== null) {
      find(list.current, wanted.current)?.querySelector('button')?.focus();
      wanted.current = null;
    }
    if (reveal !== undefined && !isRevealed.current) {
      // heights that were guessed move the row: again, until its neighbors are there
      isRevealed.current = show(find(list.current, reveal)) && !isNew;
    }
  });

  const keys = items.map(keyOf);
  const held = [focused, reveal ?? null].map(key =>
    key === null ? -1 : keys.indexOf(key)
  );
  const shown = windowOf(
    keys.map(key => heightOf(measured.current, key)),
    span,
    held
  );
  const onKeyDown = (event: React.KeyboardEvent): void => {
    const from = keys.indexOf(keyAt(event.target));
    const to = from < 0 ? null : placeAfter(event.key, from, keys.length);
    if (to !== null && isPlain(event)) {
      event.preventDefault();
      wanted.current = keys[to];
      setFocused(keys[to]);
      measure();
    }
  };
  return (
    <ol
      ref={list}
      className={className}
      aria-label={label}
      style={{ paddingBottom: shown.below }}
      onFocus={event => setFocused(keyAt(event.target))}
      onKeyDown={onKeyDown}
    >
      {shown.rows.map(({ index, gap }) => (
        <Row
          key={keys[index]}
          name={keys[index]}
          item={items[index]}
          row={row}
          attributes={attributes}
          index={index}
          count={items.length}
          gap={gap}
        />
      ))}
    </ol>
  );
}

interface RowProps<T> extends Pick<ListProps<T>, 'row' | 'attributes'> {
  readonly name: string;
  readonly item: T;
  readonly index: number;
  readonly count: number;
  readonly gap: number;
}

/** A row that stays as it is while one scrolls: only what is new is made. */
const Row = React.memo(function <T>(props: RowProps<T>): JSX.Element {
  const { name, item, row, attributes, index, count, gap } = props;
  return (
    <li
      data-key={name}
      aria-posinset={index + 1}
      aria-setsize={count}
      style={gap > 0 ? { marginTop: gap } : undefined}
      {...attributes(item)}
    >
      {row(item)}
    </li>
  );
}) as <T>(props: RowProps<T> & React.Attributes) => JSX.Element;

/** Keep a span on what is seen of a list. */
function useSpan(
  list: React.RefObject<HTMLElement>,
  setSpan: React.Dispatch<React.SetStateAction<Span>>
): void {
  React.useEffect(() => {
    const node = list.current;
    const scroller = node?.closest<HTMLElement>(`.${SCROLLER}`);
    if (!node || !scroller) {
      return;
    }
    const look = (): void => {
      const top =
        scroller.getBoundingClientRect().top - node.getBoundingClientRect().top;
      const seen = spanOf(top, scroller.clientHeight);
      setSpan(old => (old.from === seen.from && old.to === seen.to ? old : seen));
    };
    // also when it comes into view, and when what stands above it grows
    const resized = new ResizeObserver(look);
    resized.observe(scroller);
    resized.observe(node);
    scroller.addEventListener('scroll', look, { passive: true });
    return () => {
      resized.disconnect();
      scroller.removeEventListener('scroll', look);
    };
  }, []);
}

/** The heights of rows, as far as they were in the page. */
interface Heights {
  readonly known: Map<string, number>;
  /** What the others are taken for; null: none was seen yet. */
  guess: number | null;
}

function heightOf({ known, guess }: Heights, key: string): number {
  return known.get(key) ?? guess ?? FIRST_GUESS_PX;
}

/** Take the heights of rows; return whether one is another than was assumed. */
function remember(list: HTMLElement | null, heights: Heights): boolean {
  let isNew = false;
  const found: number[] = [];
  for (const row of list?.children ?? []) {
    const key = keyAt(row);
    const height = row.getBoundingClientRect().height;
    // a list that is not shown has no heights
    if (height > 0) {
      found.push(height);
      isNew ||= Math.abs(heightOf(heights, key) - height) > CHANGE_PX;
      heights.known.set(key, height);
    }
  }
  if (heights.guess === null && found.length > 0) {
    // most rows are alike: one that is as was guessed needs no second drawing. It is
    // guessed once, since another guess would move all rows that were not seen
    heights.guess = found.sort((one, other) => one - other)[found.length >> 1];
    isNew = true;
  }
  return isNew;
}

/** Bring a row into view; return whether it is there with the rows next to it. */
function show(row: HTMLElement | null): boolean {
  // nothing can be brought into view in a panel that is not shown
  if (row === null || row.offsetParent === null) {
    return false;
  }
  row.scrollIntoView({ block: 'nearest' });
  return row.style.marginTop === '';
}

function find(list: HTMLElement | null, key: string): HTMLElement | null {
  return list?.querySelector(`:scope > [data-key="${CSS.escape(key)}"]`) ?? null;
}

/** Return the key of the row that an element stands in; empty if in none. */
function keyAt(target: EventTarget): string {
  const row =
    target instanceof Element ? target.closest<HTMLElement>('[data-key]') : null;
  return row?.dataset.key ?? '';
}

/** Say whether a key was pressed alone, and not in a field. */
function isPlain(event: React.KeyboardEvent): boolean {
  return (
    !event.altKey &&
    !event.ctrlKey &&
    !event.metaKey &&
    !event.shiftKey &&
    event.target instanceof HTMLButtonElement
  );
}
