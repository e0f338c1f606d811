/**
 * What can be done now, and if not, why not: the words on a button that does nothing.
 *
 * The rule: it only words what the model knows.
 */

import type { TranslationBundle } from '@jupyterlab/translation';

import type { RunModel } from './model';
import type { StepView } from './runview';

/** Return why a kernel cannot be asked to go on now; empty if it can. */
export function whyNoKernel(model: RunModel, trans: TranslationBundle): string {
  switch (model.kernel.status) {
    case 'none':
      return trans.__('The notebook has no kernel');
    case 'dead':
      return trans.__('The kernel is dead; restart it first');
    case 'busy':
      return trans.__('The kernel is busy');
    case 'idle':
      return '';
  }
}

/** Return why the run cannot go on by itself; empty if it can. */
export function whyNotResume(model: RunModel, trans: TranslationBundle): string {
  const point = model.resumePoint;
  if (model.answer?.kind !== 'run' || model.answer.view.revision < 0) {
    return trans.__('Nothing of this notebook is stored yet');
  }
  if (point === null) {
    return trans.__('All steps are committed');
  }
  if (point.plan === 'refused') {
    return trans.__('Somebody has to decide about step %1 first', point.name);
  }
  return whyNoKernel(model, trans);
}

/** Return why nobody has to decide about a step; empty if somebody has to. */
export function whyNotDecide(step: StepView | null, trans: TranslationBundle): string {
  return step?.ways.some(({ how }) => how !== '')
    ? ''
    : trans.__('There is nothing to decide about this step');
}

/** Return why nothing can be shown of what a step stored; empty if it can. */
export function whyNotInspect(step: StepView | null, trans: TranslationBundle): string {
  return step?.committedAt ? '' : trans.__('Nothing is committed of this step');
}
