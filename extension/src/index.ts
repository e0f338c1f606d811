/** The plugin: joins the parts, and nothing else. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette, ISessionContextDialogs } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { RunClient } from './client';
import { addCommands } from './commands';
import { Follower } from './follow';
import { RunModel } from './model';
import { NotebookHand } from './notebook';
import { Sidebar } from './sidebar';
import { CommandIDs, DOMAIN, PLUGIN_ID } from './tokens';

const RANK = 900;

const plugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'Shows the steps of the current notebook and where it goes on.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ITranslator, ICommandPalette, ILayoutRestorer, ISessionContextDialogs],
  activate
};

function activate(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  someTranslator: ITranslator | null,
  palette: ICommandPalette | null,
  restorer: ILayoutRestorer | null,
  dialogs: ISessionContextDialogs | null
): void {
  const translator = someTranslator ?? nullTranslator;
  const trans = translator.load(DOMAIN);
  const model = new RunModel(new RunClient(app.serviceManager.serverSettings));
  const sidebar = new Sidebar(
    model,
    {
      refresh: () => void app.commands.execute(CommandIDs.refresh),
      enable: () => void app.commands.execute(CommandIDs.enable),
      save: () => void app.commands.execute('docmanager:save'),
      resume: () => void app.commands.execute(CommandIDs.resume),
      goTo: ({ name }) => void app.commands.execute(CommandIDs.goTo, { step: name })
    },
    translator
  );
  app.shell.add(sidebar, 'right', { rank: RANK, type: 'nbresume' });
  restorer?.add(sidebar, sidebar.id);
  const follower = new Follower(tracker, model, () => sidebar.isVisible);
  sidebar.shown.connect(() => void follower.refresh());
  const hand = new NotebookHand(dialogs, translator);
  for (const command of addCommands({ app, follower, hand, model, trans })) {
    palette?.addItem({ command, category: trans.__('Notebook Steps') });
  }
}

export default plugin;
