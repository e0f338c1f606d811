/** Icons: one shape for each state, so that no state is told by colour alone. */

import { LabIcon } from '@jupyterlab/ui-components';

import type { State } from './runview';

/** Paths in a field of 16 by 16. */
export const SHAPES: Record<
  State | 'steps' | 'resume' | 'locked' | 'unlocked' | 'restored' | 'copy',
  string
> = {
  NEW: 'M8 3a5 5 0 1 1 0 10A5 5 0 0 1 8 3zm0 1.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z',
  RUNNING: 'M4.5 2.5 13 8l-8.5 5.500z',
  RAN: 'M4.5 2.5 13 8l-8.5 5.500zM6 5.300v5.400L10.2 8z',
  FAILED: 'M4 2.6 8 6.600l4-4L13.4 4l-4 4 4 4-1.4 1.4-4-4-4 4L2.6 12l4-4-4-4z',
  INTERRUPTED: 'M9.5 1 3 9h4l-.8 6L13 6.500H8.700z',
  AMBIGUOUS:
    'M8 1.500a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM7.1 10.800v1.800h1.800v-1.800zM5.2 6h1.700c0-.7.5-1.1 1.1-1.100s1.1.4 1.1 1c0 .5-.3.8-.9 1.2-.8.5-1.1 1-1.1 2v.7h1.700v-.4c0-.5.2-.8.9-1.2.8-.5 1.2-1.2 1.2-2.2 0-1.6-1.2-2.6-2.9-2.600S5.2 4.4 5.2 6z',
  COMMITTED: 'M6.3 12.7 1.9 8.300l1.5-1.5 2.9 2.9 6.3-6.3 1.5 1.500z',
  STALE:
    'M8 2.500a5.5 5.5 0 0 1 4.6 2.500L14 3.600V8H9.600l1.8-1.800A4 4 0 1 0 12 8.800h1.500A5.5 5.5 0 1 1 8 2.500z',
  ORPHANED: 'M3 7.100h10v1.800H3z',
  ABANDONED:
    'M8 1.500a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13zM8 3a5 5 0 0 0-4 8L11 4a5 5 0 0 0-3-1zm4 2-7 7a5 5 0 0 0 7-7z',
  QUARANTINED: 'M8 1.5 15 14H1zM7.2 6v4h1.600V6zm0 5v1.600h1.600V11z',
  ERASED: 'M3 3h10v10H3zm1.500 1.500v7h7v-7zM6 7.250h4v1.500H6z',
  NOT_TAKEN:
    'M2.500 2.500h7L14 8l-4.500 5.500h-7L7 8zM5.300 4 8.900 8l-3.600 4h3.500L12 8 8.800 4z',
  steps:
    'M2 2h3v3H2zm5 .700h7v1.600H7zM2 6.500h3v3H2zm5 .700h7v1.600H7zM2 11h3v3H2zm5 .700h7v1.600H7z',
  resume: 'M2 3h2.200v10H2zm4.200 0 7.8 5-7.8 5z',
  locked:
    'M8 1.500A3.500 3.500 0 0 0 4.500 5v2H3v7.500h10V7h-1.500V5A3.500 3.500 0 0 0 8 1.500zM6 5a2 2 0 0 1 4 0v2H6z',
  unlocked:
    'M8 1.500A3.500 3.500 0 0 0 4.500 5h1.500a2 2 0 0 1 4 0v2H3v7.500h10V7h-1.500V5A3.500 3.500 0 0 0 8 1.500zM4.500 8.500h7V13h-7z',
  restored:
    'M8 2.500a5.500 5.500 0 1 1-5.300 7h1.600A4 4 0 1 0 5.200 5.200L7 7H2V2l2.100 2.100A5.500 5.500 0 0 1 8 2.500z',
  copy: 'M2 2h8v3h4v9H6v-3H2zm1.500 1.500v6H6V5h2.500V3.500zm4 3v6h5v-6z'
};

function icon(name: keyof typeof SHAPES): LabIcon {
  return new LabIcon({
    name: `nbresume:${name.toLowerCase()}`,
    svgstr:
      '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">' +
      `<path class="jp-icon3" fill="#616161" fill-rule="evenodd" d="${SHAPES[name]}"/></svg>`
  });
}

export const stepsIcon = icon('steps');
export const resumeIcon = icon('resume');
export const stateIcons: Readonly<Record<State, LabIcon>> = {
  NEW: icon('NEW'),
  RUNNING: icon('RUNNING'),
  RAN: icon('RAN'),
  FAILED: icon('FAILED'),
  INTERRUPTED: icon('INTERRUPTED'),
  AMBIGUOUS: icon('AMBIGUOUS'),
  COMMITTED: icon('COMMITTED'),
  STALE: icon('STALE'),
  ORPHANED: icon('ORPHANED'),
  ABANDONED: icon('ABANDONED'),
  QUARANTINED: icon('QUARANTINED'),
  ERASED: icon('ERASED'),
  NOT_TAKEN: icon('NOT_TAKEN')
};
/** For the badges on cells. */
export const badgeIcons = {
  ran: stateIcons.COMMITTED,
  restored: icon('restored'),
  committed: stateIcons.COMMITTED,
  unlocked: icon('unlocked'),
  copy: icon('copy'),
  locked: icon('locked')
};
