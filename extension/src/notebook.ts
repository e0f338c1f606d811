/**
 * What the sidebar does with the notebook that it follows.
 *
 * The rule: cells are run as the person would run them, by the notebook's own
 * actions, and nothing is chosen here.
 */

import type { ISessionContext, ISessionContextDialogs } from '@jupyterlab/apputils';
import type { Cell, ICellModel } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';
import type { ITranslator } from '@jupyterlab/translation';

import type { CellText } from './cells';
import { CellIndex, findLoad } from './cells';
import { alwaysOf, firstOf } from './marker';
import type { RunView } from './runview';

const LOAD = '%load_ext nbresume';

/** Acts on open notebooks. */
export class NotebookHand {
  constructor(
    private readonly dialogs: ISessionContextDialogs | null,
    private readonly translator: ITranslator
  ) {}

  /** Select the cell of a step, bring it into view and give it the focus. */
  async goTo(panel: NotebookPanel, cellId: string, name: string): Promise<boolean> {
    const place = indexOf(panel).find(cellId, name);
    if (place < 0) {
      return false;
    }
    const notebook = panel.content;
    notebook.deselectAll();
    notebook.mode = 'command';
    notebook.activeCellIndex = place;
    await notebook.scrollToCell(notebook.widgets[place], 'center');
    notebook.activate();
    return true;
  }

  /** Run the cell with `%load_ext nbresume`; one is put first if there is none. */
  async enable(panel: NotebookPanel): Promise<boolean> {
    const notebook = panel.content;
    const place = findLoad(textsOf(panel));
    notebook.activeCellIndex = Math.max(place, 0);
    if (place < 0) {
      NotebookActions.insertAbove(notebook);
      notebook.activeCell?.model.sharedModel.setSource(LOAD);
    }
    return this.run(panel, notebook.activeCellIndex, notebook.activeCellIndex + 1);
  }

  /**
   * Run the cells from where the run goes on; none if that is nowhere.
   *
   * Before them those above whose author lets them run each time.
   */
  async runOn(panel: NotebookPanel, view: RunView): Promise<boolean> {
    const index = indexOf(panel);
    const first = firstOf(index, view);
    const { widgets } = panel.content;
    const always = alwaysOf(index, view).map(place => widgets[place]);
    return first >= 0 && this.runCells(panel, [...always, ...widgets.slice(first)]);
  }

  /** Run the cell of a step. */
  async runStep(panel: NotebookPanel, cellId: string, name: string): Promise<boolean> {
    const place = indexOf(panel).find(cellId, name);
    return place >= 0 && this.run(panel, place, place + 1);
  }

  private run(panel: NotebookPanel, first: number, end: number): Promise<boolean> {
    return this.runCells(panel, panel.content.widgets.slice(first, end));
  }

  private runCells(panel: NotebookPanel, cells: readonly Cell[]): Promise<boolean> {
    const context: ISessionContext = panel.sessionContext;
    return NotebookActions.runCells(
      panel.content,
      cells,
      context,
      this.dialogs ?? undefined,
      this.translator
    );
  }
}

/** Return the cells of an open notebook as far as steps are concerned. */
export function textsOf(panel: NotebookPanel): CellText[] {
  return panel.content.widgets.map(({ model }) => textOf(model));
}

/** Return the same, to look for steps in it. */
export function indexOf(panel: NotebookPanel): CellIndex {
  return new CellIndex(textsOf(panel));
}

/** Return a cell as far as steps are concerned. */
export function textOf(model: ICellModel): CellText {
  return {
    id: model.id,
    isCode: model.type === 'code',
    source: model.sharedModel.getSource()
  };
}
