/**
 * What stands above a cell: its badge, and the mark where the run goes on.
 *
 * The rule: it has a place of its own in the cell's header, so it covers nothing, and
 * what is no button lets clicks through. No state is told by colour alone.
 */

import type { TranslationBundle } from '@jupyterlab/translation';
import type { LabIcon } from '@jupyterlab/ui-components';

import { badgeIcons, resumeIcon, stateIcons } from './icons';
import type { Badge } from './locks';
import type { Marker } from './marker';

/** What a strip shows. */
export interface Shown {
  readonly badge: Badge | null;
  readonly marker: Marker['kind'] | null;
}

/** The strip of one cell. */
export class Strip {
  readonly node = document.createElement('div');

  constructor(
    private readonly unlock: () => void,
    private readonly trans: TranslationBundle
  ) {
    this.node.className = 'jp-nbresume-strip';
    // keys on its button are no shortcuts of the notebook
    this.node.dataset.lmSuppressShortcuts = 'true';
  }

  /** Show a badge and a mark. */
  show({ badge, marker }: Shown): void {
    const parts: HTMLElement[] = [];
    if (marker !== null) {
      parts.push(this.mark(marker));
    }
    if (badge !== null) {
      parts.push(this.line(badge));
    }
    this.node.replaceChildren(...parts);
  }

  /** Say why the cell cannot be edited, and offer to unlock it. */
  offer({ step, hasEffects }: Badge): void {
    if (this.node.querySelector('[role=alert]') !== null) {
      return;
    }
    const said = element('p', 'jp-nbresume-offer');
    said.setAttribute('role', 'alert');
    said.textContent = hasEffects
      ? this.trans.__(
          'Step %1 is committed and acts on the outside, so it is read-only here. Edited, it does not run again before you allow it.',
          step
        )
      : this.trans.__(
          'Step %1 is committed, so it is read-only here. Edited, it is stale and runs again.',
          step
        );
    this.node.append(said);
    this.node.classList.add('jp-mod-offers');
    this.node.scrollIntoView({ block: 'nearest' });
  }

  /** Take the offer back. */
  withdraw(): void {
    this.node.querySelector('[role=alert]')?.remove();
    this.node.classList.remove('jp-mod-offers');
  }

  private mark(kind: Marker['kind']): HTMLElement {
    const node = element('div', 'jp-nbresume-marker');
    node.dataset.marker = kind;
    const label =
      kind === 'stopped'
        ? this.trans.__('Stopped here')
        : this.trans.__('Goes on here');
    node.append(
      drawn(kind === 'stopped' ? stateIcons.AMBIGUOUS : resumeIcon),
      said(label)
    );
    return node;
  }

  private line(badge: Badge): HTMLElement {
    const node = element('div', 'jp-nbresume-badgeLine');
    const label = element('span', 'jp-nbresume-badge');
    label.dataset.badge = badge.kind;
    label.title = sentence(badge, this.trans);
    label.append(
      drawn(badgeIcons[badge.isLocked ? 'locked' : badge.kind]),
      said(word(badge, this.trans))
    );
    // what a pointer finds by resting on it
    const hidden = element('span', 'jp-nbresume-hidden');
    hidden.textContent = `: ${label.title}`;
    label.append(hidden);
    node.append(label);
    if (badge.isLocked) {
      const button = document.createElement('button');
      button.className = 'jp-nbresume-unlock';
      button.textContent = this.trans.__('Unlock to edit');
      button.addEventListener('click', this.unlock);
      node.append(button);
    }
    if (badge.kind === 'copy') {
      const help = element('span', 'jp-nbresume-help');
      help.textContent = this.trans.__('Give this step a name of its own.');
      node.append(help);
    }
    return node;
  }
}

function word({ kind, step, isLocked }: Badge, trans: TranslationBundle): string {
  switch (kind) {
    case 'ran':
      return isLocked ? trans.__('ran, locked') : trans.__('ran');
    case 'restored':
      return isLocked ? trans.__('restored, locked') : trans.__('restored');
    case 'committed':
      return isLocked ? trans.__('committed, locked') : trans.__('committed');
    case 'unlocked':
      return trans.__('unlocked');
    case 'copy':
      return trans.__('name used twice: %1', step);
  }
}

function sentence(badge: Badge, trans: TranslationBundle): string {
  const { kind, step, isLocked } = badge;
  switch (kind) {
    case 'ran':
      return isLocked
        ? trans.__(
            'This kernel ran step %1. It acts on the outside, so it is read-only here.',
            step
          )
        : trans.__('This kernel ran step %1. Editing makes it stale.', step);
    case 'restored':
      return isLocked
        ? trans.__(
            'An earlier kernel ran step %1, and this one has its values from the store. It is read-only here.',
            step
          )
        : trans.__(
            'An earlier kernel ran step %1, and this one has its values from the store. Editing makes it stale.',
            step
          );
    case 'committed':
      return isLocked
        ? trans.__(
            'An earlier kernel ran step %1, and this one has not restored it yet. It is read-only here.',
            step
          )
        : trans.__(
            'An earlier kernel ran step %1, and this one has not restored it yet. Editing makes it stale.',
            step
          );
    case 'unlocked':
      return trans.__(
        'You unlocked step %1 until its next commit. Editing makes it stale.',
        step
      );
    case 'copy':
      return trans.__(
        'Step %1 is another cell. Type %%%%step OTHER_NAME here, or this cell is refused.',
        step
      );
  }
}

function element(tag: string, name: string): HTMLElement {
  const node = document.createElement(tag);
  node.className = name;
  return node;
}

function said(text: string): HTMLElement {
  const node = document.createElement('span');
  node.textContent = text;
  return node;
}

function drawn(icon: LabIcon): HTMLElement {
  const node = icon.element({ tag: 'span', width: '12px', height: '12px' });
  node.setAttribute('aria-hidden', 'true');
  return node;
}
