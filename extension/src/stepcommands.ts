/** The commands for one step: take its lock off, run it again. */

import { InputDialog } from '@jupyterlab/apputils';

import type { Parts } from './commands';
import { quoted, type } from './kernel';
import { load } from './resume';
import type { StepView } from './runview';
import { CommandIDs } from './tokens';

const ARGUMENTS = {
  args: {
    type: 'object',
    properties: { step: { type: 'string', description: 'Name of the step' } },
    required: ['step']
  }
} as const;

/** Add the commands; they are no use without a step, and so in no palette. */
export function addStepCommands(parts: Parts): void {
  const { app, decorator, follower, hand, model, trans } = parts;
  const stepOf = (name: unknown): StepView | null =>
    (model.answer?.kind === 'run' &&
      model.answer.view.steps.find(step => step.name === name)) ||
    null;
  app.commands.addCommand(CommandIDs.unlock, {
    label: trans.__('Unlock the Cell of a Step'),
    describedBy: ARGUMENTS,
    isEnabled: () => follower.panel !== null,
    execute: async ({ step: name }) => {
      const step = stepOf(name);
      if (follower.panel !== null && step !== null) {
        decorator.unlock(follower.panel, step.name);
        await hand.goTo(follower.panel, step.cellId, step.name);
      }
    }
  });
  app.commands.addCommand(CommandIDs.rerun, {
    label: trans.__('Run a Committed Step Again'),
    describedBy: ARGUMENTS,
    isEnabled: () => follower.panel !== null && model.kernel.status === 'idle',
    execute: async ({ step: name }) => {
      const step = stepOf(name);
      if (step !== null) {
        await rerun(step, parts);
      }
    }
  });
}

/** Let a committed step run again, and run its cell. */
async function rerun(step: StepView, parts: Parts): Promise<void> {
  const { follower, hand, model } = parts;
  const { panel } = follower;
  const because = step.hasEffects ? await reason(step, parts) : 'asked for in the page';
  if (panel === null || because === null || !(await load(panel, parts))) {
    return;
  }
  const kernel = panel.sessionContext.session?.kernel;
  if (!kernel) {
    return;
  }
  const said = await type(
    kernel,
    `%steps rerun ${quoted(step.name)} --because ${quoted(because)}`
  );
  model.setSaid(said.text);
  if (said.isDone) {
    await hand.runStep(panel, step.cellId, step.name);
  }
  await follower.refresh();
}

/** Ask why a step that acts on the outside may do so again; null: it may not. */
async function reason(step: StepView, { trans }: Parts): Promise<string | null> {
  const { button, value } = await InputDialog.getText({
    title: trans.__('Run step %1 again', step.name),
    label: trans.__(
      'It acts on the outside, and will do so again; effects on record are replayed. Why may it? The reason is kept on record.'
    ),
    okLabel: trans.__('Run it again'),
    required: true
  });
  const because = value?.trim() ?? '';
  return button.accept && because !== '' ? because : null;
}
