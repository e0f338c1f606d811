/** The model: one notebook, one run, one signal. */

import { readFileSync } from 'fs';
import { join } from 'path';

import { NOT_LIVE } from '../live';
import type { IRunClient } from '../model';
import { RunModel } from '../model';
import type { Answer, RunEvent } from '../runview';
import { parseRunView } from '../runview';

const NO_RUN: Answer = { kind: 'no-run' };

function golden(name: string): Answer {
  const file = join(__dirname, `../../../tests/data/runview/${name}.json`);
  return parseRunView(JSON.parse(readFileSync(file, 'utf-8')));
}

/** A server whose answers come when the test says so. */
class FakeClient implements IRunClient {
  readonly asked: string[] = [];
  readonly trails: string[] = [];
  private readonly waiting: ((answer: Answer) => void)[] = [];

  run(path: string): Promise<Answer> {
    this.asked.push(path);
    return new Promise(resolve => this.waiting.push(resolve));
  }

  history(path: string): Promise<readonly RunEvent[]> {
    this.trails.push(path);
    return Promise.resolve([]);
  }

  /** Answer a question by its place. */
  answer(place: number, answer: Answer): void {
    this.waiting[place](answer);
  }
}

function setUp(): { client: FakeClient; model: RunModel; changes: () => number } {
  const client = new FakeClient();
  const model = new RunModel(client);
  let count = 0;
  model.stateChanged.connect(() => {
    count += 1;
  });
  return { client, model, changes: () => count };
}

describe('RunModel', () => {
  it('shows the resume point of the run that it follows', async () => {
    const { client, model } = setUp();

    const done = model.follow('nb.ipynb');
    client.answer(0, golden('ambiguous'));
    await done;

    expect(model.resumePoint?.name).toBe('mail');
  });

  it('has no resume point before it knows, nor when all are committed', async () => {
    const { client, model } = setUp();

    const done = model.follow('nb.ipynb');
    expect(model.resumePoint).toBeNull();
    client.answer(0, golden('committed'));
    await done;

    expect(model.answer?.kind).toBe('run');
  });

  it('drops an answer about a notebook that it left', async () => {
    const { client, model } = setUp();

    const first = model.follow('one.ipynb');
    const second = model.follow('two.ipynb');
    client.answer(1, NO_RUN);
    client.answer(0, golden('ambiguous'));
    await Promise.all([first, second]);

    expect(model.path).toBe('two.ipynb');
    expect(model.answer).toEqual(NO_RUN);
  });

  it('drops an answer that a later one overtook', async () => {
    const { client, model } = setUp();

    const first = model.follow('nb.ipynb');
    const second = model.refresh();
    client.answer(1, golden('committed'));
    client.answer(0, golden('new'));
    await Promise.all([first, second]);

    expect(model.answer).toEqual(golden('committed'));
  });

  it('can resume only where a step may run and a kernel is free', async () => {
    const { client, model } = setUp();
    const done = model.follow('nb.ipynb');
    client.answer(0, golden('interrupted'));
    await done;

    expect(model.canResume).toBe(false);
    model.setKernel({ status: 'idle', isEnabled: null });
    expect([model.canResume, model.hasCommitted]).toEqual([true, true]);
    model.setKernel({ status: 'busy', isEnabled: true });
    expect(model.canResume).toBe(false);
  });

  it.each([
    ['committed', true],
    ['ambiguous', true],
    ['new', false],
    ['empty', false]
  ])('knows whether something of the notebook is committed: %s', async (name, can) => {
    const { client, model } = setUp();
    const done = model.follow('nb.ipynb');
    client.answer(0, golden(name));
    await done;
    model.setKernel({ status: 'idle', isEnabled: null });

    expect(model.hasCommitted).toBe(can);
  });

  it.each(['ambiguous', 'committed', 'empty'])('cannot resume when %s', async name => {
    const { client, model } = setUp();
    model.setKernel({ status: 'idle', isEnabled: true });
    const done = model.follow('nb.ipynb');
    client.answer(0, golden(name));
    await done;
    model.setKernel({ status: 'idle', isEnabled: true });

    expect(model.canResume).toBe(false);
  });

  it('asks nothing when no notebook is open', async () => {
    const { client, model, changes } = setUp();

    await model.follow('');

    expect(client.asked).toEqual([]);
    expect(changes()).toBe(1);
  });

  it('asks for the audit trail only while it is shown', async () => {
    const { client, model } = setUp();

    const opened = model.follow('nb.ipynb');
    client.answer(0, NO_RUN);
    await opened;
    expect(client.trails).toEqual([]);
    const shown = model.showTrail(true);
    client.answer(1, NO_RUN);
    await shown;

    expect(client.trails).toEqual(['nb.ipynb']);
    expect(model.events).toEqual([]);
  });

  it('tells of a change once, and of no change not at all', () => {
    const { model, changes } = setUp();

    model.setKernel({ status: 'busy', isEnabled: null });
    model.setKernel({ status: 'busy', isEnabled: null });
    model.setEdited(true);
    model.setEdited(true);

    model.setLive(NOT_LIVE);
    model.setLive({ ...NOT_LIVE, link: 'absent' });

    expect(changes()).toBe(3);
    expect([model.kernel.status, model.live.link]).toEqual(['busy', 'absent']);
  });

  it('is deaf where nbresume is loaded and tells nothing', () => {
    const { model } = setUp();

    model.setLive({ ...NOT_LIVE, link: 'absent' });
    expect(model.isDeaf).toBe(false);
    model.setKernel({ status: 'idle', isEnabled: true });
    expect(model.isDeaf).toBe(true);
    model.setLive({ ...NOT_LIVE, link: 'other' });
    expect(model.isDeaf).toBe(true);
    model.setLive({ ...NOT_LIVE, link: 'open' });
    expect(model.isDeaf).toBe(false);
  });

  it('forgets the kernel of the notebook that it leaves', async () => {
    const { client, model } = setUp();
    model.setKernel({ status: 'idle', isEnabled: true });
    model.setEdited(true);
    model.setLive({ ...NOT_LIVE, link: 'open' });

    const done = model.follow('two.ipynb');
    client.answer(0, NO_RUN);
    await done;

    expect(model.kernel).toEqual({ status: 'none', isEnabled: null });
    expect(model.isEdited).toBe(false);
    expect(model.live).toBe(NOT_LIVE);
  });
});
