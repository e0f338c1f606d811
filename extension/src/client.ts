/**
 * The only file that talks to the server.
 *
 * The rule: an answer always comes; a server that is away, or that lacks the
 * extension, is one answer among others.
 */

import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

import type { Decision } from './decision';
import type { Told } from './inquiry';
import type { Answer, Explained, PlanView, RunEvent, StepDetails } from './runview';
import {
  parseEvents,
  parseExplained,
  parsePlan,
  parseRefusal,
  parseRunView,
  parseStepDetails
} from './runview';
import type { Failure } from './sentences';

const NO_RUN = 204;

/** Asks about the run of a notebook. */
export class RunClient {
  constructor(private readonly settings: ServerConnection.ISettings) {}

  /** Return what is known about the run of a notebook. */
  async run(path: string): Promise<Answer> {
    const response = await this.get('run', { path });
    const failure = await failureOf(response);
    return failure ?? parseRunView(await json(response));
  }

  /** Return the audit trail of a notebook, oldest first; empty if there is none. */
  async history(path: string): Promise<readonly RunEvent[]> {
    const response = await this.get('history', { path });
    return (await failureOf(response)) === null
      ? parseEvents(await json(response))
      : [];
  }

  /** Return what running all cells would do. */
  plan(path: string): Promise<Told<PlanView>> {
    return this.told(this.get('plan', { path }), parsePlan);
  }

  /** Return why a step would run, or not. */
  explain(path: string, step: string): Promise<Told<Explained>> {
    return this.told(this.get('explain', { path, step }), parseExplained);
  }

  /** Return what a step stored. */
  step(path: string, step: string): Promise<Told<StepDetails>> {
    return this.told(this.get('step', { path, step }), parseStepDetails);
  }

  /** Record what a person decided about a step; return what the server says. */
  decide(path: string, decision: Decision): Promise<Told<string>> {
    const body = JSON.stringify({ path, ...decision });
    return this.told(this.request('decide', { method: 'POST', body }), said);
  }

  private async told<T>(
    asked: Promise<Response | null>,
    parse: (value: unknown) => T | null
  ): Promise<Told<T>> {
    const response = await asked;
    const failure = await failureOf(response);
    if (failure !== null) {
      return failure;
    }
    const told = parse(await json(response));
    return told === null
      ? { kind: 'unreadable', because: 'its shape' }
      : { kind: 'told', told };
  }

  private get(
    route: string,
    query: Readonly<Record<string, string>>
  ): Promise<Response | null> {
    return this.request(route + URLExt.objectToQueryString(query), { method: 'GET' });
  }

  private async request(route: string, init: RequestInit): Promise<Response | null> {
    const url = URLExt.join(this.settings.baseUrl, 'nbresume', route);
    try {
      return await ServerConnection.makeRequest(url, init, this.settings);
    } catch (error) {
      if (error instanceof ServerConnection.NetworkError) {
        return null;
      }
      throw error;
    }
  }
}

/** Return what a response is instead of an answer; null if it is one. */
async function failureOf(response: Response | null): Promise<Failure | null> {
  if (response === null) {
    return { kind: 'unreachable', status: 0 };
  }
  if (response.status === NO_RUN) {
    return { kind: 'no-run' };
  }
  if (response.ok) {
    return null;
  }
  // without the server's part a route is unknown, and says so in another shape
  const refusal = parseRefusal(await json(response));
  return refusal.kind === 'refused'
    ? refusal
    : { kind: 'unreachable', status: response.status };
}

/** Return what a decision was answered; null if it cannot be understood. */
function said(value: unknown): string | null {
  const fields = value as { readonly said?: unknown } | null;
  return typeof fields?.said === 'string' ? fields.said : null;
}

/** Return a body as JSON; null, which no parser understands, if it is none. */
async function json(response: Response | null): Promise<unknown> {
  const body = (await response?.text()) ?? '';
  try {
    return JSON.parse(body);
  } catch (error) {
    if (error instanceof SyntaxError) {
      return null;
    }
    throw error;
  }
}
