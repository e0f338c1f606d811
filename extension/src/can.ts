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
      return trans.__('The kernel is dead; choose another one first');
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

/** Return why a step's cell cannot be unlocked; empty if it can. */
export function whyNotUnlock(step: StepView | null, trans: TranslationBundle): string {
  return step !== null && step.state === 'COMMITTED' && step.place >= 0
    ? ''
    : trans.__('The step is not committed, so its cell is not locked');
}

/** Return why a step cannot be run again now; empty if it can. */
export function whyNotRerun(
  step: StepView | null,
  model: RunModel,
  trans: TranslationBundle
): string {
  return step?.isLocked && step.place >= 0
    ? whyNoKernel(model, trans)
    : trans.__('The step is not committed: it runs when its cell is run');
}

/** Return why nothing can be restored now; empty if it can. */
export function whyNotRestore(model: RunModel, trans: TranslationBundle): string {
  return model.hasCommitted
    ? whyNoKernel(model, trans)
    : trans.__('Nothing of this notebook is committed yet');
}
