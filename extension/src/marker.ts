/**
 * Where in a notebook its run goes on.
 *
 * The rule: what is marked is where *Resume* begins: the first cell, plain ones too,
 * below the last step that holds. The server says which steps hold; where their cells
 * stand now is looked up in the open notebook.
 */

import type { CellIndex } from './cells';
import type { RunView, StepView } from './runview';

/** A mark above a cell. */
export interface Marker {
  readonly place: number;
  /** stopped: somebody has to decide first. */
  readonly kind: 'goes-on' | 'stopped';
}

/** Return the mark that a notebook shows; null if there is nothing to go on with. */
export function markerOf(index: CellIndex, view: RunView): Marker | null {
  const point = pointOf(view);
  if (view.revision < 0 || point === null || point.state === 'RUNNING') {
    return null;
  }
  const isStopped = point.plan === 'refused';
  const place = isStopped ? index.find(point.cellId, point.name) : firstOf(index, view);
  return place < 0 ? null : { place, kind: isStopped ? 'stopped' : 'goes-on' };
}

/** Return the place of the first cell that *Resume* runs; -1 if there is none. */
export function firstOf(index: CellIndex, view: RunView): number {
  const point = pointOf(view);
  const end = point === null ? -1 : index.find(point.cellId, point.name);
  if (end < 0) {
    return -1;
  }
  return Math.max(-1, ...holding(index, view, end).keys()) + 1;
}

/** Return the places of the cells above that, which *Resume* runs, too. */
export function alwaysOf(index: CellIndex, view: RunView): readonly number[] {
  const above = holding(index, view, firstOf(index, view));
  return [...above]
    .filter(([, step]) => step.isAlways)
    .map(([place]) => place)
    .sort((one, other) => one - other);
}

/** Return the steps that hold above a place, by where their cells stand. */
function holding(
  index: CellIndex,
  view: RunView,
  end: number
): ReadonlyMap<number, StepView> {
  const found = new Map<number, StepView>();
  for (const step of view.steps.filter(({ place, holds }) => place >= 0 && holds)) {
    const place = index.find(step.cellId, step.name);
    if (place >= 0 && place < end) {
      found.set(place, step);
    }
  }
  return found;
}

/** Return the step where the run goes on; null if there is none. */
export function pointOf(view: RunView): StepView | null {
  return view.steps.find(step => step.name === view.resumeFrom) ?? null;
}
