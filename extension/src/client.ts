/**
 * The only file that talks to the server.
 *
 * The rule: an answer always comes; a server that is away, or that lacks the
 * extension, is one answer among others.
 */

import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

import type { Answer, RunEvent } from './runview';
import { parseEvents, parseRefusal, parseRunView } from './runview';

const NO_RUN = 204;

/** Asks about the run of a notebook. */
export class RunClient {
  constructor(private readonly settings: ServerConnection.ISettings) {}

  /** Return what is known about the run of a notebook. */
  async run(path: string): Promise<Answer> {
    const response = await this.get('run', path);
    if (response === null) {
      return { kind: 'unreachable', status: 0 };
    }
    if (response.status === NO_RUN) {
      return { kind: 'no-run' };
    }
    if (!response.ok) {
      // without the server's part a route is unknown, and says so in another shape
      const refusal = parseRefusal(await json(response));
      return refusal.kind === 'refused'
        ? refusal
        : { kind: 'unreachable', status: response.status };
    }
    return parseRunView(await json(response));
  }

  /** Return the audit trail of a notebook, oldest first; empty if there is none. */
  async history(path: string): Promise<readonly RunEvent[]> {
    const response = await this.get('history', path);
    if (response === null || !response.ok || response.status === NO_RUN) {
      return [];
    }
    return parseEvents(await json(response));
  }

  private async get(route: string, path: string): Promise<Response | null> {
    const base = URLExt.join(this.settings.baseUrl, 'nbresume', route);
    try {
      return await ServerConnection.makeRequest(
        base + URLExt.objectToQueryString({ path }),
        { method: 'GET' },
        this.settings
      );
    } catch (error) {
      if (error instanceof ServerConnection.NetworkError) {
        return null;
      }
      throw error;
    }
  }
}

/** Return a body as JSON; null, which no parser understands, if it is none. */
async function json(response: Response): Promise<unknown> {
  const body = await response.text();
  try {
    return JSON.parse(body);
  } catch (error) {
    if (error instanceof SyntaxError) {
      return null;
    }
    throw error;
  }
}
