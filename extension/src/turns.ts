/**
 * Saves of one document, one after the other, whoever asks for them.
 *
 * The rule: JupyterLab compares the file with what it wrote last before it writes. Of
 * two saves that overlap the second one finds what the first one just wrote, takes it
 * for another program's, and asks the person which of the two shall be lost. So they
 * take turns.
 */

/** What can be saved. */
interface Saved {
  save: () => Promise<void>;
}

/** The saves of one document. */
export class Turns {
  constructor(document: Saved) {
    const save = document.save.bind(document);
    document.save = () => {
      const turn = this._last.then(save);
      // what stands against one save is told to whoever asked for it
      this._last = turn.catch(() => undefined);
      return turn;
    };
  }

  /** Ends with the last save that was asked for; never fails. */
  get last(): Promise<void> {
    return this._last;
  }

  private _last: Promise<void> = Promise.resolve();
}
