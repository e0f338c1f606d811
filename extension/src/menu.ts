/** The menu of a step in the sidebar: what can be done with it, by keyboard too. */

import type { CommandRegistry } from '@lumino/commands';
import { Menu } from '@lumino/widgets';

import { CommandIDs } from './tokens';

const ITEMS = [
  CommandIDs.goTo,
  CommandIDs.inspect,
  CommandIDs.explain,
  CommandIDs.decide,
  CommandIDs.unlock,
  CommandIDs.rerun
];

/** Opens below the button that asked for it, and gives the focus back to it. */
export class StepMenu {
  constructor(commands: CommandRegistry) {
    this.menu = new Menu({ commands });
    this.menu.addClass('jp-nbresume-menu');
    this.menu.aboutToClose.connect(() => this.button?.focus());
  }

  /** Offer what can be done with a step. */
  open(step: string, button: HTMLElement): void {
    this.menu.clearItems();
    for (const command of ITEMS) {
      this.menu.addItem({ command, args: { step } });
    }
    this.button = button;
    const { left, bottom } = button.getBoundingClientRect();
    this.menu.open(left, bottom);
    // the library shows no captions, and one that is disabled says there why
    this.menu.node.querySelectorAll<HTMLElement>('li').forEach((node, place) => {
      node.title = this.menu.items[place].caption;
    });
    this.menu.activateNextItem();
  }

  private readonly menu: Menu;
  private button: HTMLElement | null = null;
}
