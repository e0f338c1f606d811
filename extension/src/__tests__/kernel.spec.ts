/** What is asked of a kernel outside of its cells. */

import type { Kernel } from '@jupyterlab/services';

import { isEnabled, isUnknownMagic, missedName, statusOf, type } from '../kernel';

interface Request {
  readonly code: string;
  readonly silent?: boolean;
  readonly store_history?: boolean;
}

/** A kernel that gives one reply, after it printed some text. */
function kernel(content: object, ...printed: string[]): FakeKernel {
  return new FakeKernel(content, printed);
}

class FakeKernel {
  readonly requests: Request[] = [];

  constructor(
    private readonly content: object,
    private readonly printed: readonly string[]
  ) {}

  get connection(): Kernel.IKernelConnection {
    return this as unknown as Kernel.IKernelConnection;
  }

  requestExecute(request: Request): object {
    this.requests.push(request);
    const { content, printed } = this;
    const future = {
      onIOPub: (_: object): void => undefined,
      get done(): Promise<object> {
        this.onIOPub({ header: { msg_type: 'status' }, content: {} });
        for (const text of printed) {
          this.onIOPub({ header: { msg_type: 'stream' }, content: { text } });
        }
        return Promise.resolve({ content });
      }
    };
    return future;
  }
}

const ok = (loaded: object): object => ({ status: 'ok', user_expressions: { loaded } });

describe('statusOf', () => {
  it.each([
    ['idle', 'idle'],
    ['busy', 'busy'],
    ['starting', 'busy'],
    ['autorestarting', 'busy'],
    ['terminating', 'dead'],
    ['dead', 'dead']
  ])('calls %s %s', (status, expected) => {
    expect(statusOf({ status } as Kernel.IKernelConnection)).toBe(expected);
  });

  it('knows that there may be no kernel', () => {
    expect(statusOf(null)).toBe('none');
  });
});

describe('isEnabled', () => {
  it.each([
    [ok({ data: { 'text/plain': 'True' } }), true],
    [ok({ data: { 'text/plain': 'False' } }), false],
    [ok({ status: 'error', ename: 'NameError' }), null],
    [{ status: 'ok', user_expressions: {} }, null],
    [{ status: 'aborted' }, null]
  ])('reads %j', async (content, expected) => {
    expect(await isEnabled(kernel(content).connection)).toBe(expected);
  });

  it('runs nothing and leaves no trace in the history', async () => {
    const asked = kernel(ok({}));

    await isEnabled(asked.connection);

    expect(asked.requests).toMatchObject([
      { code: '', silent: true, store_history: false }
    ]);
  });
});

describe('type', () => {
  it('returns what was printed', async () => {
    const said = await type(
      kernel({ status: 'ok' }, '2 names', ' are restored\n').connection,
      '%steps resume'
    );

    expect(said).toEqual({ isDone: true, text: '2 names are restored' });
  });

  it('returns why it was refused', async () => {
    const refused = { status: 'error', evalue: 'another kernel holds the run' };

    const said = await type(kernel(refused, 'first\n').connection, '%steps resume');

    expect(said).toEqual({
      isDone: false,
      text: 'first\nanother kernel holds the run'
    });
  });
});

describe('isUnknownMagic', () => {
  const said = 'Cell magic `%%step` not found.';

  it.each([
    ['UsageError', said, true],
    ['UsageError', 'Cell magic `%%steps` not found.', false],
    // our own refusal of a header
    ['UsageError', 'the %%step header was not understood', false],
    ['NameError', said, false]
  ])('of %s: %s is %s', (errorName, errorValue, expected) => {
    expect(isUnknownMagic({ errorName, errorValue })).toBe(expected);
  });

  it('is false where nothing failed', () => {
    expect([isUnknownMagic(null), isUnknownMagic(undefined)]).toEqual([false, false]);
  });
});

describe('missedName', () => {
  it.each([
    ['NameError', "name 'z' is not defined", 'z'],
    ['NameError', "name 'ob' is not defined. Did you mean: 'oct'?", 'ob'],
    // ours names the step that could not keep it
    ['NotKeptError', "name 'z' has no value here", null],
    ['KeyError', "'z'", null]
  ])('of %s: %s is %s', (errorName, errorValue, expected) => {
    expect(missedName({ errorName, errorValue })).toBe(expected);
  });

  it('is null where nothing failed', () => {
    expect([missedName(null), missedName(undefined)]).toEqual([null, null]);
  });
});
