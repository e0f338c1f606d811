/** How many steps are locked, in the status bar; a click shows the sidebar. */

import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import type { RunModel } from './model';

/** The item; it has something to say only about a run with steps. */
export class StatusItem extends Widget {
  constructor(
    private readonly model: RunModel,
    private readonly trans: TranslationBundle,
    show: () => void
  ) {
    const button = document.createElement('button');
    super({ node: button });
    this.addClass('jp-nbresume-status');
    button.addEventListener('click', show);
    model.stateChanged.connect(this.onModel, this);
    this.onModel();
  }

  /** Whether there is something to say. */
  get isActive(): boolean {
    const { answer } = this.model;
    return answer?.kind === 'run' && answer.view.steps.length > 0;
  }

  private onModel(): void {
    const { answer } = this.model;
    if (answer?.kind !== 'run') {
      return;
    }
    const { headline, steps } = answer.view;
    const placed = steps.filter(({ place }) => place >= 0);
    // a stale step is locked too, but counts as little as in the headline
    const locked = placed.filter(({ plan }) => plan === 'replay');
    this.node.textContent = this.trans._n(
      '%2 of %1 step locked',
      '%2 of %1 steps locked',
      placed.length,
      String(locked.length)
    );
    this.node.title = this.trans.__('%1. Show the steps', headline);
  }
}
