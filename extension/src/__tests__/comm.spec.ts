/** The line to a kernel: asked, open, refused, lost, and of another kernel. */

import type { ISessionContext } from '@jupyterlab/apputils';
import { Signal } from '@lumino/signaling';

import { Line } from '../comm';

const SESSION = {
  event: 'session',
  run_id: 'r1',
  version: '0.1.0',
  steps: { load: 'ran' }
};

class FakeComm {
  onMsg: (message: object) => void = () => undefined;
  onClose: () => void = () => undefined;
  isDisposed = false;
  isClosed = false;

  open(): void {
    // what the kernel answers is said by the test
  }

  close(): void {
    this.isClosed = true;
  }

  tell(data: object): void {
    this.onMsg({ content: { data } });
  }
}

class FakeKernel {
  status = 'idle';
  connectionStatus = 'connected';
  handleComms = true;
  isDisposed = false;
  readonly comms: FakeComm[] = [];

  createComm(): FakeComm {
    const comm = new FakeComm();
    this.comms.push(comm);
    return comm;
  }
}

class FakeContext {
  kernel: FakeKernel | null = new FakeKernel();
  readonly statusChanged = new Signal<this, string>(this);
  readonly kernelChanged = new Signal<this, void>(this);
  readonly connectionStatusChanged = new Signal<this, string>(this);
  readonly disposed = new Signal<this, void>(this);

  get session(): object {
    return { kernel: this.kernel };
  }

  turn(status: string): void {
    if (this.kernel !== null) {
      this.kernel.status = status;
    }
    this.statusChanged.emit(status);
  }
}

function setUp(isWanted = true): {
  context: FakeContext;
  line: Line;
  asked: FakeComm[];
} {
  const context = new FakeContext();
  const asked = context.kernel?.comms ?? [];
  const line = new Line(context as unknown as ISessionContext, () => isWanted);
  return { context, line, asked };
}

describe('Line', () => {
  it('hears the kernel, and asks it once', () => {
    const { context, line, asked } = setUp();

    expect([asked.length, line.live.link]).toEqual([1, 'none']);
    asked[0].tell(SESSION);
    context.turn('idle');

    expect([asked.length, line.live.link]).toEqual([1, 'open']);
    expect(line.live.held.get('load')).toBe('ran');
  });

  it('asks no kernel whose notebook has no steps', () => {
    expect(setUp(false).asked).toEqual([]);
  });

  it('asks a kernel that refused again only when it is told to', () => {
    const { context, line, asked } = setUp();
    asked[0].onClose();
    context.turn('idle');

    expect([asked.length, line.live.link]).toEqual([1, 'absent']);
    line.open();
    asked[1].tell(SESSION);
    expect(line.live.link).toBe('open');
  });

  it('asks for a lost line at the next idle moment', () => {
    const { context, line, asked } = setUp();
    asked[0].tell(SESSION);
    asked[0].onClose();
    expect(line.live.link).toBe('lost');
    context.turn('busy');
    expect(asked.length).toBe(1);
    context.turn('idle');

    expect(asked.length).toBe(2);
    expect(line.live.held.get('load')).toBe('ran');
  });

  it('knows nothing of a kernel that took the place of another', () => {
    const { context, line, asked } = setUp();
    asked[0].tell(SESSION);
    context.turn('restarting');

    expect([line.live.link, line.live.held.size]).toEqual(['none', 0]);
    // what the old one still sends is not listened to
    asked[0].tell(SESSION);
    asked[0].onClose();
    expect(line.live.link).toBe('none');
    context.turn('idle');
    expect(asked.length).toBe(2);
  });

  it('asks anew after the page was away, and lets the kernel forget it before', () => {
    const { context, line, asked } = setUp();
    asked[0].tell(SESSION);
    context.connectionStatusChanged.emit('connecting');
    context.connectionStatusChanged.emit('connected');

    expect([asked.length, asked[0].isClosed, line.live.link]).toEqual([
      2,
      true,
      'none'
    ]);
  });

  it('follows the notebook to another kernel, or to none', () => {
    const { context, line, asked } = setUp();
    asked[0].tell(SESSION);
    context.kernel = null;
    context.kernelChanged.emit();
    expect(line.live.link).toBe('none');
    context.kernel = new FakeKernel();
    context.kernelChanged.emit();

    expect(context.kernel.comms.length).toBe(1);
  });

  it.each([
    [{ handleComms: false }],
    [{ connectionStatus: 'connecting' }],
    [{ status: 'dead' }],
    [{ isDisposed: true }]
  ])('asks no kernel that cannot tell: %j', facts => {
    const { context, line } = setUp(true);
    const kernel = Object.assign(new FakeKernel(), facts);
    context.kernel = kernel;
    context.kernelChanged.emit();
    line.open();

    expect(kernel.comms).toEqual([]);
  });

  it('ends with the notebook', () => {
    const { context, line, asked } = setUp();
    context.disposed.emit();

    expect([line.isDisposed, asked[0].isClosed]).toEqual([true, true]);
    context.turn('idle');
    expect(asked.length).toBe(1);
  });
});
