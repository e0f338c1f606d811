/**
 * How a cell is made read-only: in its view, and on wish in the notebook's metadata.
 *
 * The rule: only what carries our mark is ever taken away; a cell that its author
 * made read-only stays so.
 */

import type { Cell, ICellModel } from '@jupyterlab/cells';

const MARK = 'nbresume';
const EDITABLE = 'editable';

/** Make a cell read-only in this view alone, or follow its metadata again. */
export function setReadOnly(cell: Cell, isReadOnly: boolean): void {
  if (isReadOnly) {
    // else the cell writes it into the notebook
    cell.syncEditable = false;
    cell.readOnly = true;
  } else if (cell.syncEditable === false) {
    // reads the metadata, too
    cell.syncEditable = true;
  }
}

/** Return whether a cell's metadata have a lock of ours. */
export function isMarked({ sharedModel }: ICellModel): boolean {
  const mark: unknown = sharedModel.getMetadata(MARK);
  return typeof mark === 'object' && mark !== null && 'locked' in mark && !!mark.locked;
}

/** Write a lock with our mark; return whether that was done: not over another's. */
export function mark({ sharedModel }: ICellModel): boolean {
  if (sharedModel.getMetadata(EDITABLE) !== undefined) {
    return false;
  }
  sharedModel.setMetadata({
    ...sharedModel.getMetadata(),
    [EDITABLE]: false,
    [MARK]: { locked: true }
  });
  return true;
}

/** Take a lock with our mark out of a cell's metadata. */
export function unmark({ sharedModel }: ICellModel): void {
  if (sharedModel.getMetadata(EDITABLE) === false) {
    sharedModel.deleteMetadata(EDITABLE);
  }
  sharedModel.deleteMetadata(MARK);
}
