/** The commands: in the palette, in menus, and behind the buttons of the sidebar. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { TranslationBundle } from '@jupyterlab/translation';
import { refreshIcon } from '@jupyterlab/ui-components';

import { whyNotRestore } from './can';
import type { Decorator } from './decorate';
import type { Follower } from './follow';
import { resumeIcon, stepsIcon } from './icons';
import type { RunModel } from './model';
import type { NotebookHand } from './notebook';
import { alone, restore, resume } from './resume';
import { CommandIDs, SIDEBAR_ID } from './tokens';

/** What the commands work with. */
export interface Parts {
  readonly app: JupyterFrontEnd;
  readonly decorator: Decorator;
  readonly follower: Follower;
  readonly hand: NotebookHand;
  readonly model: RunModel;
  readonly trans: TranslationBundle;
}

const NO_ARGUMENTS = { args: { type: 'object', properties: {} } } as const;

/** Add the commands; return their ids in the order of the palette. */
export function addCommands(parts: Parts): string[] {
  const { app, follower, hand, model, trans } = parts;
  const { commands } = app;
  const isOpen = (): boolean => follower.panel !== null;
  const goOn = alone();
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
  commands.addCommand(CommandIDs.resume, {
    label: trans.__('Resume Where the Notebook Stopped'),
    caption: trans.__(
      'Bind what the committed steps made, and run every cell below them'
    ),
    icon: resumeIcon,
    describedBy: NO_ARGUMENTS,
    isEnabled: () => isOpen() && model.canResume,
    execute: () => goOn(follower.panel, () => resume(parts))
  });
  commands.addCommand(CommandIDs.restore, {
    label: trans.__('Restore What Is Committed, and Run Nothing'),
    caption: () =>
      whyNotRestore(model, trans) ||
      trans.__('Bind what the committed steps made, and run no cell'),
    describedBy: NO_ARGUMENTS,
    isEnabled: () => isOpen() && whyNotRestore(model, trans) === '',
    execute: () => goOn(follower.panel, () => restore(parts))
  });
  commands.addCommand(CommandIDs.goTo, {
    label: args =>
      'step' in args
        ? trans.__('Go to its cell')
        : trans.__('Go to the Step Where the Notebook Goes On'),
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
  return [
    CommandIDs.resume,
    CommandIDs.restore,
    CommandIDs.show,
    CommandIDs.refresh,
    CommandIDs.enable,
    CommandIDs.goTo
  ];
}
