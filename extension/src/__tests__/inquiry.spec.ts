/** What somebody asked to see: one question at a time. */

import type { IInquiryClient, Told } from '../inquiry';
import { Inquiry } from '../inquiry';
import type { IRunClient } from '../model';
import { RunModel } from '../model';
import type { Explained, PlanView, RunView, StepDetails } from '../runview';

const VIEW: RunView = {
  runId: 'run-1',
  version: '0.1.0',
  notebook: 'nb.ipynb',
  order: 'file',
  isTrusted: true,
  differs: [],
  headline: '',
  resumeFrom: '',
  revision: 3,
  steps: [],
  claim: null,
  damaged: [],
  origin: null
};

/** A server that says what it was asked, and runs of growing revisions. */
class FakeClient implements IRunClient, IInquiryClient {
  readonly asked: string[] = [];
  revision = 3;

  run = async (): ReturnType<IRunClient['run']> => ({
    kind: 'run',
    view: { ...VIEW, revision: this.revision }
  });

  history = async (): Promise<[]> => [];

  async plan(path: string): Promise<Told<PlanView>> {
    this.asked.push(`plan ${path}`);
    return { kind: 'told', told: { headline: path, differs: [], steps: [] } };
  }

  async explain(path: string, step: string): Promise<Told<Explained>> {
    this.asked.push(`explain ${path} ${step}`);
    const told = { step, verdict: 'run', sentence: '', cues: [], ways: [] } as const;
    return { kind: 'told', told };
  }

  async step(path: string, step: string): Promise<Told<StepDetails>> {
    this.asked.push(`step ${path} ${step}`);
    return { kind: 'no-run' };
  }
}

async function setUp(): Promise<{
  client: FakeClient;
  model: RunModel;
  inquiry: Inquiry;
}> {
  const client = new FakeClient();
  const model = new RunModel(client);
  const inquiry = new Inquiry(client, model);
  await model.follow('nb.ipynb');
  return { client, model, inquiry };
}

/** Let what was asked without waiting be answered. */
const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

describe('Inquiry', () => {
  it('asks nothing by itself', async () => {
    const { client, model, inquiry } = await setUp();

    client.revision = 4;
    await model.refresh();

    expect([client.asked, inquiry.question, inquiry.reply]).toEqual([[], null, null]);
  });

  it('shows the answer to the newest question only', async () => {
    const { inquiry } = await setUp();

    const first = inquiry.ask({ kind: 'plan' });
    const second = inquiry.ask({ kind: 'explain', step: 'fit' });
    expect(inquiry.reply).toBeNull();
    await Promise.all([first, second]);

    expect(inquiry.reply).toMatchObject({ kind: 'explain', told: { step: 'fit' } });
  });

  it('keeps why there is no answer', async () => {
    const { inquiry } = await setUp();

    await inquiry.ask({ kind: 'inspect', step: 'fit' });

    expect(inquiry.reply).toEqual({ kind: 'failed', failure: { kind: 'no-run' } });
  });

  it('asks anew when the run went on, and only then', async () => {
    const { client, model, inquiry } = await setUp();
    await inquiry.ask({ kind: 'plan' });

    await model.refresh();
    await settled();
    expect(client.asked).toEqual(['plan nb.ipynb']);
    client.revision = 4;
    await model.refresh();
    await settled();

    expect(client.asked).toEqual(['plan nb.ipynb', 'plan nb.ipynb']);
  });

  it('forgets the question with the notebook, and when it is closed', async () => {
    const { model, inquiry } = await setUp();
    await inquiry.ask({ kind: 'plan' });

    await model.follow('two.ipynb');
    expect(inquiry.question).toBeNull();
    await inquiry.ask({ kind: 'plan' });
    inquiry.close();

    expect([inquiry.question, inquiry.reply]).toEqual([null, null]);
  });
});
