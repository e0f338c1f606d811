/**
 * What is asked of a notebook's kernel outside of its cells.
 *
 * The rule: nothing enters its history. A kernel that is busy answers when its cell
 * has ended: no view waits for it.
 */

import type { Kernel, KernelMessage } from '@jupyterlab/services';

import type { KernelFacts } from './model';

const LOAD_BY_ITSELF =
  "__import__('nbresume.ui.ipython.startup', fromlist=['load']).load(get_ipython())";
const PROBE = "'nbresume' in get_ipython().extension_manager.loaded";

/** Return a kernel's status in the four words that the sidebar tells apart. */
export function statusOf(
  kernel: Kernel.IKernelConnection | null
): KernelFacts['status'] {
  switch (kernel?.status) {
    case undefined:
      return 'none';
    case 'idle':
      return 'idle';
    case 'dead':
    case 'terminating':
      return 'dead';
    default:
      return 'busy';
  }
}

/** Return whether a status says that the kernel behind the connection is another one. */
export function isNew(status: string): boolean {
  return ['restarting', 'autorestarting', 'dead', 'starting'].includes(status);
}

/**
 * Load nbresume as `nbresume autoload` does; return whether that was possible.
 *
 * The kernel decides by the saved notebook, and greets below the first cell.
 */
export async function loadByItself(kernel: Kernel.IKernelConnection): Promise<boolean> {
  const future = kernel.requestExecute({
    code: LOAD_BY_ITSELF,
    silent: true,
    store_history: false,
    allow_stdin: false
  });
  try {
    return (await future.done).content.status === 'ok';
  } catch {
    // the kernel ended before it answered: its next status says so
    return false;
  }
}

/** What a command printed, and whether it was done. */
export interface Said {
  readonly isDone: boolean;
  readonly text: string;
}

/** Type a command where no cell shows it; return what it said. */
export async function type(
  kernel: Kernel.IKernelConnection,
  command: string
): Promise<Said> {
  const lines: string[] = [];
  const future = kernel.requestExecute({
    code: command,
    store_history: false,
    allow_stdin: false
  });
  future.onIOPub = message => {
    // the protocol names the kinds; the types of the library do not narrow by them
    if (message.header.msg_type === 'stream') {
      lines.push((message as KernelMessage.IStreamMsg).content.text);
    }
  };
  const { content } = await future.done;
  if (content.status === 'error') {
    lines.push(content.evalue);
  }
  return { isDone: content.status === 'ok', text: lines.join('').trim() };
}

/** Return whether nbresume is loaded in a kernel; null if it cannot tell. */
export async function isEnabled(
  kernel: Kernel.IKernelConnection
): Promise<boolean | null> {
  const future = kernel.requestExecute({
    code: '',
    silent: true,
    store_history: false,
    allow_stdin: false,
    user_expressions: { loaded: PROBE }
  });
  return told((await future.done).content);
}

function told(content: KernelMessage.IExecuteReplyMsg['content']): boolean | null {
  if (content.status !== 'ok') {
    return null;
  }
  // the protocol leaves the shape of an evaluated expression open
  const found = content.user_expressions.loaded as
    { readonly data?: { readonly 'text/plain'?: string } } | undefined;
  switch (found?.data?.['text/plain']) {
    case 'True':
      return true;
    case 'False':
      return false;
    default:
      return null;
  }
}

/** What a cell ended with, as the kernel told it. */
export interface CellError {
  readonly errorName: string;
  readonly errorValue: string;
}

/** Return whether an error says that `%%step` means nothing to IPython. */
export function isUnknownMagic(error: CellError | null | undefined): boolean {
  return (
    error?.errorName === 'UsageError' &&
    /Cell magic `%%step` not found/.test(error.errorValue)
  );
}

/** Return the name that a cell missed; null if that is not why it failed. */
export function missedName(error: CellError | null | undefined): string | null {
  if (error?.errorName !== 'NameError') {
    return null;
  }
  return /^name '([^']+)' is not defined/.exec(error.errorValue)?.[1] ?? null;
}
