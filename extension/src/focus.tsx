/**
 * Keeps the focus in the sidebar when what had it is no longer there.
 *
 * The rule: it moves the focus only if nothing else has it.
 */

import * as React from 'react';

interface Held {
  readonly node: HTMLElement;
  /** The row that it stood in; empty if in none. */
  readonly key: string;
}

/** What stands in it is where the focus stays, next to where it was. */
export function KeepFocus({
  children
}: {
  readonly children: React.ReactNode;
}): JSX.Element {
  const inside = React.useRef<HTMLDivElement>(null);
  const held = React.useRef<Held | null>(null);
  React.useLayoutEffect(() => {
    const lost = held.current;
    if (lost === null || lost.node.isConnected) {
      return;
    }
    held.current = null;
    if (document.activeElement === document.body) {
      nextTo(inside.current, lost.key)?.focus();
    }
  });
  return (
    <div
      ref={inside}
      className="jp-nbresume-inside"
      onFocus={({ target }) => {
        const row = target.closest<HTMLElement>('[data-key]');
        held.current = { node: target, key: row?.dataset.key ?? '' };
      }}
      onBlur={({ target }) => {
        // what was removed is no longer there by then; what was left still is
        queueMicrotask(() => {
          if (target.isConnected && held.current?.node === target) {
            held.current = null;
          }
        });
      }}
    >
      {children}
    </div>
  );
}

function nextTo(inside: HTMLElement | null, key: string): HTMLElement | null {
  const row = inside?.querySelector(`[data-key="${CSS.escape(key)}"] button`);
  return (row ?? inside?.querySelector('h2')) as HTMLElement | null;
}
