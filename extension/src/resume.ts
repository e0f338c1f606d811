/**
 * *Resume* and *Restore only*: what is committed into the kernel, and cells run.
 *
 * The rule: what is marked is what runs. Edits are saved first: the server and the
 * kernel know the notebook by its file alone.
 */

import type { NotebookPanel } from '@jupyterlab/notebook';

import type { Follower } from './follow';
import { type } from './kernel';
import type { RunModel } from './model';
import type { NotebookHand } from './notebook';

const PATIENCE_MS = 2000;
const LOOK_MS = 50;

/** What it works with. */
export interface Parts {
  readonly follower: Follower;
  readonly hand: NotebookHand;
  readonly model: RunModel;
}

/** Bind what is committed, and run every cell below it. */
export async function resume(parts: Parts): Promise<void> {
  const { follower, hand, model } = parts;
  const { panel } = follower;
  await whenFree(model);
  if (panel === null || !model.canResume) {
    return;
  }
  await saved(panel, parts);
  const { canResume } = await whenFree(model);
  if (canResume && (await bind(panel, parts)) && model.answer?.kind === 'run') {
    await hand.runOn(panel, model.answer.view);
  }
  await follower.refresh();
}

/** Bind what is committed, and run no cell but the one that loads nbresume. */
export async function restore(parts: Parts): Promise<void> {
  const { follower, model } = parts;
  const { panel } = follower;
  await whenFree(model);
  if (panel === null || !model.hasCommitted || model.kernel.status !== 'idle') {
    return;
  }
  await saved(panel, parts);
  await bind(panel, parts);
  await follower.refresh();
}

/** Load nbresume into the kernel if need be; return whether it is there. */
export async function load(
  panel: NotebookPanel,
  { hand, model }: Parts
): Promise<boolean> {
  return model.kernel.isEnabled === true || (await hand.enable(panel));
}

/** Save what was edited. */
async function saved(panel: NotebookPanel, { follower }: Parts): Promise<void> {
  if (follower.isEdited && !panel.context.model.readOnly) {
    await panel.context.save();
    await follower.refresh();
  }
}

/**
 * Wait for a kernel that is busy for a moment; return the model as it is then.
 *
 * A question of ours makes it so, also between a look at the button and the click. Of a
 * notebook that has just become the current one nothing is known for a moment.
 */
async function whenFree(model: RunModel): Promise<RunModel> {
  const isKnown = (): boolean =>
    model.answer !== null && model.kernel.status !== 'busy';
  for (let left = PATIENCE_MS; left > 0 && !isKnown();) {
    await new Promise(resolve => setTimeout(resolve, LOOK_MS));
    left -= LOOK_MS;
  }
  return model;
}

async function bind(panel: NotebookPanel, parts: Parts): Promise<boolean> {
  const { model } = parts;
  model.setSaid('');
  const isLoaded = await load(panel, parts);
  const kernel = panel.sessionContext.session?.kernel;
  if (!isLoaded || !kernel) {
    return false;
  }
  const said = await type(kernel, '%steps resume');
  model.setSaid(said.text);
  return said.isDone;
}
