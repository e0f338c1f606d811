/** The plugin: joins the parts, and nothing else. */

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ILayoutRestorer } from '@jupyterlab/application';
import {
  ICommandPalette,
  ISanitizer,
  ISessionContextDialogs,
  Sanitizer
} from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStatusBar } from '@jupyterlab/statusbar';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { RunClient } from './client';
import { addCommands } from './commands';
import { Drafts } from './decision';
import { Decorator } from './decorate';
import { Follower } from './follow';
import { Forgotten } from './forgotten';
import { Inquiry } from './inquiry';
import { Lines } from './lines';
import { StepMenu } from './menu';
import { RunModel } from './model';
import { NotebookHand } from './notebook';
import { saveWhatRan, SavedCode } from './save';
import type { Actions } from './sidebar';
import { Sidebar } from './sidebar';
import { Starts } from './starts';
import { StatusItem } from './status';
import { addStepCommands } from './stepcommands';
import { CommandIDs, DOMAIN, PLUGIN_ID, STATUS_ID } from './tokens';
import type { Wishes } from './wishes';
import { DEFAULTS, wishesOf } from './wishes';

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
    ISanitizer,
    IStatusBar,
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
  someSanitizer: ISanitizer | null,
  statusBar: IStatusBar | null,
  settings: ISettingRegistry | null,
  documents: IDocumentManager | null
): void {
  const translator = someTranslator ?? nullTranslator;
  const trans = translator.load(DOMAIN);
  const client = new RunClient(app.serviceManager.serverSettings);
  const model = new RunModel(client);
  const inquiry = new Inquiry(client, model);
  const sanitizer = someSanitizer ?? new Sanitizer();
  const sidebar = new Sidebar(
    {
      model,
      inquiry,
      actions: actionsOf(app),
      sanitize: html => sanitizer.sanitize(html)
    },
    translator
  );
  app.shell.add(sidebar, 'right', { rank: RANK, type: 'nbresume' });
  restorer?.add(sidebar, sidebar.id);
  const lines = new Lines(tracker);
  const saved = new SavedCode(tracker);
  const follower = new Follower(tracker, model, lines, saved, () => sidebar.isVisible);
  let set = DEFAULTS;
  const wishes = (): Wishes => set;
  const decorator = new Decorator(tracker, model, client, lines, wishes, trans);
  const starts = new Starts({ app, tracker, lines, client, trans, wishes });
  if (documents !== null) {
    saveWhatRan(tracker, lines, saved, documents, () => set.saveAfterStep);
  }
  sidebar.shown.connect(() => void follower.refresh());
  const hand = new NotebookHand(dialogs, translator);
  new Forgotten({ app, tracker, hand, client, trans });
  const drafts = new Drafts();
  const parts = {
    app,
    decorator,
    drafts,
    follower,
    hand,
    model,
    trans,
    client,
    inquiry
  };
  for (const command of [...addCommands(parts), ...addStepCommands(parts)]) {
    const category = trans.__('Notebook Steps');
    palette?.addItem({ command, category, args: { isPalette: true } });
  }
  const show = (): void => void app.commands.execute(CommandIDs.show);
  const item = new StatusItem(model, trans, show);
  statusBar?.registerStatusItem(STATUS_ID, {
    item,
    align: 'left',
    rank: RANK,
    isActive: () => item.isActive,
    activeStateChanged: model.stateChanged
  });
  void settings?.load(PLUGIN_ID).then(loaded => {
    const read = (): void => {
      set = wishesOf(loaded.composite);
      decorator.update();
      starts.update();
    };
    loaded.changed.connect(read);
    read();
  });
}

/** Every click is a command, so that keys and menus do the same. */
function actionsOf({ commands }: JupyterFrontEnd): Actions {
  const menu = new StepMenu(commands);
  const run = (id: string, args: { step?: string } = {}): void =>
    void commands.execute(id, args);
  return {
    refresh: () => run(CommandIDs.refresh),
    enable: () => run(CommandIDs.enable),
    save: () => run('docmanager:save'),
    chooseKernel: () => run('notebook:change-kernel'),
    resume: () => run(CommandIDs.resume),
    restore: () => run(CommandIDs.restore),
    whyNotRestore: () =>
      commands.isEnabled(CommandIDs.restore)
        ? ''
        : commands.caption(CommandIDs.restore),
    plan: () => run(CommandIDs.plan),
    goTo: ({ name }) => run(CommandIDs.goTo, { step: name }),
    decide: ({ name }) => run(CommandIDs.decide, { step: name }),
    menu: ({ name }, button) => menu.open(name, button)
  };
}

export default plugin;
