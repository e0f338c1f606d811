/** The plugin: joins the parts, and nothing else. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILayoutRestorer } from '@jupyterlab/application';
import { ICommandPalette, ISessionContextDialogs } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { RunClient } from './client';
import { addCommands } from './commands';
import { Decorator } from './decorate';
import { Follower } from './follow';
import { Lines } from './lines';
import { RunModel } from './model';
import { NotebookHand } from './notebook';
import { saveWhatRan } from './save';
import { Sidebar } from './sidebar';
import { CommandIDs, DOMAIN, PLUGIN_ID } from './tokens';

const RANK = 900;

const plugin: JupyterFrontEndPlugin<void> = {
  id: PLUGIN_ID,
  description: 'Shows the steps of the current notebook and where it goes on.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [
    ITranslator,
    ICommandPalette,
    ILayoutRestorer,
    ISessionContextDialogs,
    ISettingRegistry,
    IDocumentManager
  ],
  activate
};

function activate(
  app: JupyterFrontEnd,
  tracker: INotebookTracker,
  someTranslator: ITranslator | null,
  palette: ICommandPalette | null,
  restorer: ILayoutRestorer | null,
  dialogs: ISessionContextDialogs | null,
  settings: ISettingRegistry | null,
  documents: IDocumentManager | null
): void {
  const translator = someTranslator ?? nullTranslator;
  const trans = translator.load(DOMAIN);
  const client = new RunClient(app.serviceManager.serverSettings);
  const model = new RunModel(client);
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
  const lines = new Lines(tracker);
  const follower = new Follower(tracker, model, lines, () => sidebar.isVisible);
  const decorator = new Decorator(tracker, model, client, lines, trans);
  if (documents !== null) {
    saveWhatRan(tracker, lines, documents);
  }
  sidebar.shown.connect(() => void follower.refresh());
  const hand = new NotebookHand(dialogs, translator);
  for (const command of addCommands({ app, decorator, follower, hand, model, trans })) {
    palette?.addItem({ command, category: trans.__('Notebook Steps') });
  }
  void settings?.load(PLUGIN_ID).then(loaded => {
    const read = (): void => {
      decorator.isInMetadata = loaded.get('lockInMetadata').composite === true;
    };
    loaded.changed.connect(read);
    read();
  });
}

export default plugin;
