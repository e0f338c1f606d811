/** The client: every end of a request is an answer. */

import { ServerConnection } from '@jupyterlab/services';

import { RunClient } from '../client';

const asked: string[] = [];

/** Return a client whose server gives one response to everything. */
function client(respond: () => Response): RunClient {
  asked.length = 0;
  return new RunClient(
    ServerConnection.makeSettings({
      baseUrl: 'http://server/base/',
      fetch: async request => {
        asked.push(request instanceof Request ? request.url : String(request));
        return respond();
      }
    })
  );
}

const refusal = { message: 'a', because: 'b', remedy: 'c' };

describe('RunClient', () => {
  it('asks below the base url, with the path escaped', async () => {
    await client(() => new Response(null, { status: 204 })).run('a folder/nb&x.ipynb');

    const url = new URL(asked[0]);
    expect(url.pathname).toBe('/base/nbresume/run');
    expect(url.searchParams.get('path')).toBe('a folder/nb&x.ipynb');
  });

  it.each([204, 404, 409, 500])('makes an answer of status %d', async status => {
    const kinds: Record<number, string> = {
      204: 'no-run',
      404: 'refused',
      409: 'refused',
      500: 'refused'
    };
    const body = status === 204 ? null : JSON.stringify(refusal);

    const answer = await client(() => new Response(body, { status })).run('nb.ipynb');

    expect(answer.kind).toBe(kinds[status]);
  });

  it('tells a server without nbresume from a refusal', async () => {
    const answer = await client(
      () => new Response('{"message": "Not Found"}', { status: 404 })
    ).run('nb.ipynb');

    expect(answer).toEqual({ kind: 'unreachable', status: 404 });
  });

  it('says so when the server is away', async () => {
    const away = client(() => {
      throw new TypeError('fetch failed');
    });

    expect(await away.run('nb.ipynb')).toEqual({ kind: 'unreachable', status: 0 });
    expect(await away.history('nb.ipynb')).toEqual([]);
  });

  it('does not understand a page of HTML', async () => {
    const answer = await client(() => new Response('<html>')).run('nb.ipynb');

    expect(answer).toEqual({ kind: 'unreadable', because: 'view is no object' });
  });

  it('sends a decision, and returns what was recorded', async () => {
    const bodies: string[] = [];
    const decided = new RunClient(
      ServerConnection.makeSettings({
        baseUrl: 'http://server/',
        fetch: async request => {
          bodies.push(request instanceof Request ? await request.text() : '');
          return new Response('{"said": "step mail may run again"}');
        }
      })
    ).decide('nb.ipynb', { step: 'mail', how: 'retry', because: 'none arrived' });

    expect(await decided).toEqual({ kind: 'told', told: 'step mail may run again' });
    expect(bodies.map(body => JSON.parse(body))).toEqual([
      { path: 'nb.ipynb', step: 'mail', how: 'retry', because: 'none arrived' }
    ]);
  });

  it('returns why a decision was refused', async () => {
    const refused = client(
      () => new Response(JSON.stringify(refusal), { status: 409 })
    );

    const told = await refused.decide('nb.ipynb', {
      step: 'mail',
      how: 'retry',
      because: 'x'
    });

    expect(told).toEqual({ kind: 'refused', refusal });
  });

  it.each(['plan', 'explain', 'step'] as const)(
    'does not half understand the answer of %s',
    async route => {
      const answer = await client(() => new Response('{"step": 1}'))[route](
        'nb',
        'fit'
      );

      expect(answer).toEqual({ kind: 'unreadable', because: 'its shape' });
      expect(new URL(asked[0]).pathname).toBe(`/base/nbresume/${route}`);
    }
  );
});
