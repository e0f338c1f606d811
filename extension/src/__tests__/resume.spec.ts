/** *Resume*: it waits for a kernel that is busy for a moment, and says why it did not. */

import type { NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { readFileSync } from 'fs';
import { join } from 'path';

import type { Follower } from '../follow';
import { RunModel } from '../model';
import type { NotebookHand } from '../notebook';
import { alone, resume } from '../resume';
import type { Answer } from '../runview';
import { parseRunView } from '../runview';

const trans = {
  __: (text: string, ...put: string[]) =>
    put.reduce((all, one, place) => all.replace(`%${place + 1}`, one), text)
} as unknown as TranslationBundle;

function interrupted(): Answer {
  const file = join(__dirname, '../../../tests/data/runview/interrupted.json');
  return parseRunView(JSON.parse(readFileSync(file, 'utf-8')));
}

/** A notebook in front, whose kernel and file do as a test says. */
class Desk {
  readonly done: string[] = [];
  isEdited = false;
  readonly model = new RunModel({
    run: () => Promise.resolve(interrupted()),
    history: () => Promise.resolve([])
  });

  constructor(readonly collaborative: boolean = false) {}

  async open(): Promise<void> {
    await this.model.follow('nb.ipynb');
    this.kernel('idle');
  }

  kernel(status: 'idle' | 'busy'): void {
    this.model.setKernel({ status, isEnabled: true });
  }

  /** Resume, and let some time go by. */
  async resume(waitMs: number): Promise<void> {
    const { done, model } = this;
    const isEdited = (): boolean => this.isEdited;
    const follower = {
      panel: this.panel,
      get isEdited(): boolean {
        return isEdited();
      },
      refresh: () => model.refresh()
    } as unknown as Follower;
    const hand = {
      runOn: () => {
        done.push('ran');
        return Promise.resolve(true);
      }
    } as unknown as NotebookHand;
    const ended = resume({ follower, hand, model, trans });
    await jest.advanceTimersByTimeAsync(waitMs);
    await ended;
  }

  private get panel(): NotebookPanel {
    const kernel = {
      requestExecute: ({ code }: { code: string }) => {
        this.done.push(code);
        return { done: Promise.resolve({ content: { status: 'ok' } }) };
      }
    };
    const save = (): Promise<void> => {
      this.done.push('saved');
      this.isEdited = false;
      return Promise.resolve();
    };
    return {
      context: { model: { readOnly: false, collaborative: this.collaborative }, save },
      sessionContext: { session: { kernel } }
    } as unknown as NotebookPanel;
  }
}

describe('resume', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('binds what is committed and runs the cells below', async () => {
    const desk = new Desk();
    await desk.open();

    await desk.resume(0);

    expect(desk.done).toEqual(['%steps resume', 'ran']);
  });

  it('waits for a kernel that was just started and answers late', async () => {
    const desk = new Desk();
    await desk.open();
    desk.kernel('busy');
    setTimeout(() => desk.kernel('idle'), 6000);

    await desk.resume(7000);

    expect(desk.done).toEqual(['%steps resume', 'ran']);
  });

  it('says why it did nothing', async () => {
    const desk = new Desk();
    await desk.open();
    desk.kernel('busy');

    await desk.resume(60_000);

    expect(desk.done).toEqual([]);
    expect(desk.model.said).toBe('The kernel is busy');
  });

  it('saves what was edited first', async () => {
    const desk = new Desk();
    await desk.open();
    desk.isEdited = true;

    await desk.resume(0);

    expect(desk.done).toEqual(['saved', '%steps resume', 'ran']);
  });

  it('leaves the saving of a shared document to its server', async () => {
    const desk = new Desk(true);
    await desk.open();
    desk.isEdited = true;
    setTimeout(() => {
      desk.isEdited = false;
    }, 1000);

    await desk.resume(2000);

    expect(desk.done).toEqual(['%steps resume', 'ran']);
  });

  it('saves a shared document that its server does not save', async () => {
    const desk = new Desk(true);
    await desk.open();
    desk.isEdited = true;

    await desk.resume(60_000);

    expect(desk.done).toEqual(['saved', '%steps resume', 'ran']);
  });
});

describe('alone', () => {
  it('passes over what is asked for while something goes on', async () => {
    const done: string[] = [];
    const goOn = alone();
    let end = (): void => undefined;

    const first = goOn(async () => {
      await new Promise<void>(resolve => {
        end = resolve;
      });
      done.push('first');
    });
    await goOn(() => Promise.resolve(void done.push('second')));
    end();
    await first;
    await goOn(() => Promise.resolve(void done.push('third')));

    expect(done).toEqual(['first', 'third']);
  });

  it('goes on after something failed', async () => {
    const done: string[] = [];
    const goOn = alone();

    const failed = goOn(() => Promise.reject(new Error('the kernel ended')));
    await expect(failed).rejects.toThrow('the kernel ended');
    await goOn(() => Promise.resolve(void done.push('again')));

    expect(done).toEqual(['again']);
  });
});
