/**
 * What somebody asked to see: the plan, why a step would run, what it stored.
 *
 * The rule: one question at a time, about the notebook that is followed; it is asked
 * anew when the run went on, and forgotten with the notebook.
 */

import type { ISignal } from '@lumino/signaling';
import { Signal } from '@lumino/signaling';

import type { RunModel } from './model';
import type { Explained, PlanView, StepDetails } from './runview';
import type { Failure } from './sentences';

/** An answer, or why there is none. */
export type Told<T> = { readonly kind: 'told'; readonly told: T } | Failure;

/** What is asked: the client, or a fake. */
export interface IInquiryClient {
  plan(path: string): Promise<Told<PlanView>>;
  explain(path: string, step: string): Promise<Told<Explained>>;
  step(path: string, step: string): Promise<Told<StepDetails>>;
}

/** What somebody wants to see. */
export type Question =
  | { readonly kind: 'plan' }
  | { readonly kind: 'explain' | 'inspect'; readonly step: string };

/** What is shown. */
export type Reply =
  | { readonly kind: 'plan'; readonly told: PlanView }
  | { readonly kind: 'explain'; readonly told: Explained }
  | { readonly kind: 'inspect'; readonly told: StepDetails }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** The question that is open, and its answer. */
export class Inquiry {
  constructor(
    private readonly client: IInquiryClient,
    private readonly model: RunModel
  ) {
    model.stateChanged.connect(this.onModel, this);
  }

  /** Emitted after each change. */
  get stateChanged(): ISignal<this, void> {
    return this._stateChanged;
  }

  /** What was asked; null: nothing. */
  get question(): Question | null {
    return this._question;
  }

  /** The answer; null while it is on its way. */
  get reply(): Reply | null {
    return this._reply;
  }

  /** Ask; what was asked before is forgotten. */
  async ask(question: Question): Promise<void> {
    this._question = question;
    this._reply = null;
    this._stateChanged.emit();
    await this.fetch();
  }

  /** Forget the question. */
  close(): void {
    if (this._question !== null) {
      this._question = null;
      this._reply = null;
      this._stateChanged.emit();
    }
  }

  private onModel(): void {
    const { path, answer } = this.model;
    const revision = answer?.kind === 'run' ? answer.view.revision : -1;
    if (path !== this._path) {
      this.close();
    } else if (revision !== this._revision && this._question !== null) {
      // the old answer stays until the new one is there
      void this.fetch();
    }
    this._path = path;
    this._revision = revision;
  }

  private async fetch(): Promise<void> {
    const question = this._question;
    if (question === null) {
      return;
    }
    const reply = await this.replyTo(question);
    if (question === this._question) {
      this._reply = reply;
      this._stateChanged.emit();
    }
  }

  private async replyTo(question: Question): Promise<Reply> {
    const { client } = this;
    const { path } = this.model;
    switch (question.kind) {
      case 'plan':
        return replyOf('plan', await client.plan(path));
      case 'explain':
        return replyOf('explain', await client.explain(path, question.step));
      case 'inspect':
        return replyOf('inspect', await client.step(path, question.step));
    }
  }

  private readonly _stateChanged = new Signal<this, void>(this);
  private _question: Question | null = null;
  private _reply: Reply | null = null;
  private _path = '';
  private _revision = -1;
}

function replyOf<K extends string, T>(
  kind: K,
  told: Told<T>
):
  | { readonly kind: K; readonly told: T }
  | { readonly kind: 'failed'; readonly failure: Failure } {
  return told.kind === 'told'
    ? { kind, told: told.told }
    : { kind: 'failed', failure: told };
}
