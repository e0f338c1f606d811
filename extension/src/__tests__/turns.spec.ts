/** Saves of one document never overlap. */

import { Turns } from '../turns';

/** A document whose saves a test ends. */
class Document {
  readonly ends: ((error?: Error) => void)[] = [];
  running = 0;
  most = 0;

  save = (): Promise<void> => {
    this.running += 1;
    this.most = Math.max(this.most, this.running);
    return new Promise((resolve, reject) => {
      this.ends.push(error => {
        this.running -= 1;
        if (error) {
          reject(error);
        } else {
          resolve();
        }
      });
    });
  };
}

const settled = (): Promise<void> => new Promise(resolve => setTimeout(resolve));

describe('Turns', () => {
  it('let one save end before the next one begins', async () => {
    const document = new Document();
    const turns = new Turns(document);

    const saves = [document.save(), document.save()];
    await settled();
    expect(document.ends).toHaveLength(1);
    document.ends[0]();
    await settled();
    expect(document.ends).toHaveLength(2);
    document.ends[1]();

    await Promise.all([...saves, turns.last]);
    expect(document.most).toBe(1);
  });

  it('tell a failure to whoever asked, and hold nobody up', async () => {
    const document = new Document();
    const turns = new Turns(document);

    const saves = [document.save(), document.save()];
    await settled();
    document.ends[0](new Error('the disk is full'));
    await expect(saves[0]).rejects.toThrow('the disk is full');
    await settled();
    document.ends[1]();

    await expect(saves[1]).resolves.toBeUndefined();
    await turns.last;
  });
});
