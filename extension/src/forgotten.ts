/**
 * A cell that failed because nbresume is not loaded in its kernel.
 *
 * IPython then knows no `%%step`, and a kernel that was restarted knows no name of the
 * committed steps. The rule: the page says what those errors do not, and offers the way
 * out; nothing is loaded or run before somebody presses the button.
 */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import type { Cell } from '@jupyterlab/cells';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { NotebookActions } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';

import { hasSteps, stepOf } from './cells';
import type { CellError } from './kernel';
import { isEnabled, isUnknownMagic, missedName } from './kernel';
import type { IRunClient } from './model';
import type { NotebookHand } from './notebook';
import { textOf, textsOf } from './notebook';
import { CommandIDs } from './tokens';

/** What it works with. */
export interface ForgottenParts {
  readonly app: JupyterFrontEnd;
  readonly tracker: INotebookTracker;
  readonly hand: NotebookHand;
  readonly client: IRunClient;
  readonly trans: TranslationBundle;
}

/** What is said, and what its button does. */
interface Offer {
  readonly said: string;
  readonly label: string;
  readonly caption: string;
  readonly act: () => Promise<unknown>;
}

/** Looks at cells that failed. */
export class Forgotten {
  constructor(private readonly parts: ForgottenParts) {
    const { tracker } = parts;
    NotebookActions.executed.connect((_, { notebook, cell, error }) => {
      const panel = tracker.find(({ content }) => content === notebook);
      if (panel !== undefined) {
        void this.look(panel, cell, error);
      }
    });
  }

  private async look(
    panel: NotebookPanel,
    cell: Cell,
    error: CellError | null | undefined
  ): Promise<void> {
    this.withdraw(panel);
    const step = stepOf(textOf(cell.model));
    const missed = missedName(error);
    if (step !== null && isUnknownMagic(error)) {
      this.make(panel, this.toLoad(panel, cell.model.id, step));
    } else if (missed !== null && hasSteps(textsOf(panel))) {
      const maker = await this.makerOf(panel, missed);
      if (maker !== null) {
        this.make(panel, this.toRestore(panel, missed, maker));
      }
    }
  }

  private toLoad(panel: NotebookPanel, cellId: string, step: string): Offer {
    const { hand, trans } = this.parts;
    return {
      said: trans.__(
        'step %1 was not run: nbresume is not loaded in this kernel yet',
        step
      ),
      label: trans.__('Load and Run'),
      caption: trans.__(
        'Run the cell %load_ext nbresume, which is added if there is none, then this step'
      ),
      act: async () =>
        (await hand.enable(panel)) && (await hand.runStep(panel, cellId, step))
    };
  }

  private toRestore(panel: NotebookPanel, name: string, maker: string): Offer {
    const { app, trans } = this.parts;
    return {
      said: trans.__(
        'step %1 has committed %2, and this kernel does not have it: nbresume is not loaded in it yet',
        maker,
        name
      ),
      label: trans.__('Load and Restore'),
      caption: trans.__(
        'Run the cell %load_ext nbresume, and bind what the committed steps made'
      ),
      act: () => {
        app.shell.activateById(panel.id);
        return app.commands.execute(CommandIDs.restore);
      }
    };
  }

  /** Return the step that has committed a name, if this kernel knows nothing of it. */
  private async makerOf(panel: NotebookPanel, name: string): Promise<string | null> {
    const kernel = panel.sessionContext.session?.kernel;
    if (!kernel || (await isEnabled(kernel)) !== false) {
      return null;
    }
    const answer = await this.parts.client.run(panel.context.localPath);
    if (answer.kind !== 'run' || !answer.view.isTrusted) {
      return null;
    }
    const made = answer.view.steps.filter(
      ({ holds, outputs }) => holds && outputs.includes(name)
    );
    return made.pop()?.name ?? null;
  }

  private make(panel: NotebookPanel, offer: Offer): void {
    const { said, label, caption, act } = offer;
    const button = { label, caption, displayType: 'accent' as const };
    const id = Notification.emit(said, 'warning', {
      autoClose: false,
      actions: [{ ...button, callback: () => void act() }]
    });
    this.offers.set(panel, id);
  }

  private withdraw(panel: NotebookPanel): void {
    const offer = this.offers.get(panel);
    if (offer !== undefined) {
      Notification.dismiss(offer);
      this.offers.delete(panel);
    }
  }

  private readonly offers = new WeakMap<NotebookPanel, string>();
}
