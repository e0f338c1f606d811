/**
 * *Resume* and *Restore only*: what is committed into the kernel, and cells run.
 *
 * The rule: what is marked is what runs. Edits are saved first: the server and the
 * kernel know the notebook by its file alone. A click is never lost: it waits for a
 * kernel that is busy for a moment, and says why it did nothing.
 */

import type { NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';

import { whyNotRestore, whyNotResume } from './can';
import type { Follower } from './follow';
import { type } from './kernel';
import type { RunModel } from './model';
import type { NotebookHand } from './notebook';

/** A kernel that was just started answers its first question late where much runs. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 50;

/** What it works with. */
export interface Parts {
  readonly follower: Follower;
  readonly hand: NotebookHand;
  readonly model: RunModel;
  readonly trans: TranslationBundle;
}

/** Bind what is committed, and run every cell below it. */
export async function resume(parts: Parts): Promise<void> {
  const { follower, hand, model, trans } = parts;
  const { panel } = follower;
  const mayGoOn = async (): Promise<boolean> =>
    (await isFree(panel, parts, () => whyNotResume(model, trans))) && model.canResume;
  if (panel === null || !(await mayGoOn())) {
    return;
  }
  await saved(panel, parts);
  if (!(await mayGoOn()) || model.answer?.kind !== 'run') {
    return;
  }
  // of this notebook: another one may be in front before the kernel has answered
  const { view } = model.answer;
  if (await bind(panel, parts)) {
    await hand.runOn(panel, view);
  }
  await follower.refresh();
}

/** Bind what is committed, and run no cell but the one that loads nbresume. */
export async function restore(parts: Parts): Promise<void> {
  const { follower, model, trans } = parts;
  const { panel } = follower;
  const mayGoOn = await isFree(panel, parts, () => whyNotRestore(model, trans));
  if (panel !== null && mayGoOn) {
    await saved(panel, parts);
    await bind(panel, parts);
    await follower.refresh();
  }
}

/** Return what does one thing at a time in a notebook: a second click adds nothing. */
export function alone(): (
  panel: NotebookPanel | null,
  act: () => Promise<void>
) => Promise<void> {
  const going = new WeakSet<NotebookPanel>();
  return async (panel, act) => {
    if (panel === null || going.has(panel)) {
      return;
    }
    going.add(panel);
    try {
      await act();
    } finally {
      going.delete(panel);
    }
  };
}

/** Load nbresume into the kernel if need be; return whether it is there. */
export async function load(
  panel: NotebookPanel,
  { hand, model }: Parts
): Promise<boolean> {
  return model.kernel.isEnabled === true || (await hand.enable(panel));
}

/** Save what was edited; a document of several people is saved by its server. */
async function saved(panel: NotebookPanel, { follower }: Parts): Promise<void> {
  const { context } = panel;
  const isOurs = (): boolean => follower.isEdited && !context.model.readOnly;
  if (!isOurs()) {
    return;
  }
  if (context.model.collaborative === true) {
    await when(() => !follower.isEdited);
  }
  if (isOurs()) {
    await context.save();
  }
  await follower.refresh();
}

/** Wait until something is so, as long as one who has clicked would. */
async function when(isSo: () => boolean): Promise<void> {
  for (let left = PATIENCE_MS; left > 0 && !isSo(); left -= LOOK_MS) {
    await new Promise(resolve => setTimeout(resolve, LOOK_MS));
  }
}

/**
 * Wait for a kernel that is busy for a moment; return whether nothing stands against it.
 *
 * A question of ours makes it so, also between a look at the button and the click. Of a
 * notebook that has just become the current one nothing is known for a moment; one that
 * is no longer the current one is left alone.
 */
async function isFree(
  panel: NotebookPanel | null,
  { follower, model }: Parts,
  whyNot: () => string
): Promise<boolean> {
  const isLeft = (): boolean => follower.panel !== panel;
  await when(
    () => isLeft() || (model.answer !== null && model.kernel.status !== 'busy')
  );
  if (isLeft()) {
    return false;
  }
  // a click that does nothing says why
  model.setSaid(whyNot());
  return whyNot() === '';
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
