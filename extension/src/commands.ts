/** The commands: in the palette, in menus, and behind the buttons of the sidebar. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { TranslationBundle } from '@jupyterlab/translation';
import { refreshIcon } from '@jupyterlab/ui-components';

import type { Follower } from './follow';
import { stepsIcon } from './icons';
import type { RunModel } from './model';
import type { NotebookHand } from './notebook';
import { CommandIDs, SIDEBAR_ID } from './tokens';

/** What the commands work with. */
export interface Parts {
  readonly app: JupyterFrontEnd;
  readonly follower: Follower;
  readonly hand: NotebookHand;
  readonly model: RunModel;
  readonly trans: TranslationBundle;
}

const NO_ARGUMENTS = { args: { type: 'object', properties: {} } } as const;

/** Add the commands; return their ids in the order of the palette. */
export function addCommands({ app, follower, hand, model, trans }: Parts): string[] {
  const { commands } = app;
  const isOpen = (): boolean => follower.panel !== null;
  commands.addCommand(CommandIDs.show, {
    label: trans.__('Show Steps of the Notebook'),
    icon: stepsIcon,
    describedBy: NO_ARGUMENTS,
    execute: () => app.shell.activateById(SIDEBAR_ID)
  });
  commands.addCommand(CommandIDs.refresh, {
    label: trans.__('Look Again at the Steps'),
    icon: refreshIcon,
    describedBy: NO_ARGUMENTS,
    isEnabled: isOpen,
    execute: () => follower.refresh()
  });
  commands.addCommand(CommandIDs.enable, {
    label: trans.__('Enable Steps in This Notebook'),
    describedBy: NO_ARGUMENTS,
    isEnabled: isOpen,
    execute: async () => {
      if (follower.panel !== null) {
        await hand.enable(follower.panel);
        await follower.refresh();
      }
    }
  });
  commands.addCommand(CommandIDs.goTo, {
    label: trans.__('Go to the Step Where the Notebook Goes On'),
    describedBy: {
      args: {
        type: 'object',
        properties: {
          step: { type: 'string', description: 'A step; the resume point if left out' }
        }
      }
    },
    isEnabled: isOpen,
    execute: async args => {
      const step =
        model.answer?.kind === 'run' && typeof args.step === 'string'
          ? model.answer.view.steps.find(({ name }) => name === args.step)
          : model.resumePoint;
      if (follower.panel !== null && step) {
        await hand.goTo(follower.panel, step.cellId, step.name);
      }
    }
  });
  model.stateChanged.connect(() => commands.notifyCommandChanged());
  return [CommandIDs.show, CommandIDs.refresh, CommandIDs.enable, CommandIDs.goTo];
}
