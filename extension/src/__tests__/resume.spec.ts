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
  /** Another notebook is in front. */
  isLeft = false;
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
    const { panel } = this;
    const isEdited = (): boolean => this.isEdited;
    const front = (): NotebookPanel | null => (this.isLeft ? null : panel);
    const follower = {
      get panel(): NotebookPanel | null {
        return front();
      },
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

  it('leaves a notebook alone that is no longer in front', async () => {
    const desk = new Desk();
    await desk.open();
    desk.kernel('busy');
    setTimeout(() => {
      desk.isLeft = true;
      desk.kernel('idle');
    }, 3000);

    await desk.resume(4000);

    expect(desk.done).toEqual([]);
    expect(desk.model.said).toBe('');
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
  const panel = (): NotebookPanel => ({}) as NotebookPanel;

  it('passes over what is asked for while something goes on in a notebook', async () => {
    const done: string[] = [];
    const goOn = alone();
    const [one, other] = [panel(), panel()];
    const note = (what: string) => () => Promise.resolve(void done.push(what));
    let end = (): void => undefined;

    const first = goOn(one, async () => {
      await new Promise<void>(resolve => {
        end = resolve;
      });
      done.push('first');
    });
    await goOn(one, note('second'));
    await goOn(other, note('in another one'));
    await goOn(null, note('in none'));
    end();
    await first;
    await goOn(one, note('third'));

    expect(done).toEqual(['in another one', 'first', 'third']);
  });

  it('goes on after something failed', async () => {
    const done: string[] = [];
    const goOn = alone();
    const one = panel();

    const failed = goOn(one, () => Promise.reject(new Error('the kernel ended')));
    await expect(failed).rejects.toThrow('the kernel ended');
    await goOn(one, () => Promise.resolve(void done.push('again')));

    expect(done).toEqual(['again']);
  });
});
