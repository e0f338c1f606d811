/**
 * What a notebook's kernel can be asked without disturbing it.
 *
 * The rule: nothing runs in the user's namespace and nothing is shown. A kernel that
 * is busy answers when its cell has ended: nobody may wait for it.
 */

import type { Kernel, KernelMessage } from '@jupyterlab/services';

import type { KernelFacts } from './model';

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
