/**
 * The commands that show something of a step, or ask a person about it.
 *
 * The rule: each takes a step by its name, else that of the active cell, else the
 * resume point; what it cannot do it says in its caption.
 */

import type { CommandRegistry } from '@lumino/commands';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { whyNotDecide, whyNotInspect, whyNotRerun, whyNotUnlock } from './can';
import { stepOf } from './cells';
import type { RunClient } from './client';
import type { Parts } from './commands';
import type { Decision, Draft, Drafts } from './decision';
import { askAbout } from './doubt';
import type { Inquiry } from './inquiry';
import { textOf } from './notebook';
import type { Refusal, StepView } from './runview';
import { load } from './resume';
import { sentences } from './sentences';
import { CommandIDs } from './tokens';

/** What else these commands work with. */
export interface StepParts extends Parts {
  readonly client: RunClient;
  readonly drafts: Drafts;
  readonly inquiry: Inquiry;
}

const ONE_STEP = {
  args: {
    type: 'object',
    properties: {
      step: {
        type: 'string',
        description: 'A step; that of the active cell, or the resume point, if left out'
      }
    }
  }
} as const;

/** Add the commands; return their ids in the order of the palette. */
export function addStepCommands(parts: StepParts): string[] {
  const { inquiry, model, trans } = parts;
  add(parts, CommandIDs.decide, {
    label: trans.__('Decide about the Step …'),
    short: trans.__('Decide …'),
    caption: trans.__('Say what happened with a step in doubt'),
    whyNot: step => whyNotDecide(step, trans),
    act: step => decide(parts, step)
  });
  add(parts, CommandIDs.inspect, {
    label: trans.__('Inspect What the Step Stored'),
    short: trans.__('Inspect what it stored'),
    caption: trans.__('Names, kinds, sizes and previews; nothing is loaded'),
    whyNot: step => whyNotInspect(step, trans),
    act: step => show(parts, { kind: 'inspect', step: step.name })
  });
  add(parts, CommandIDs.explain, {
    label: trans.__('Explain Whether the Step Would Run'),
    short: trans.__('Explain whether it would run'),
    caption: trans.__('What its commit depends on, as it was and as it is'),
    whyNot: step => (step === null ? trans.__('There is no such step') : ''),
    act: step => show(parts, { kind: 'explain', step: step.name })
  });
  add(parts, CommandIDs.unlock, {
    label: trans.__('Unlock the Cell of the Step'),
    short: trans.__('Unlock its cell'),
    caption: trans.__('Make it editable here until its next commit'),
    whyNot: step => whyNotUnlock(step, trans),
    act: step => unlock(parts, step)
  });
  add(parts, CommandIDs.rerun, {
    label: trans.__('Run the Step Again'),
    short: trans.__('Run it again'),
    caption: trans.__('Though it is committed, and nothing has changed'),
    whyNot: step => whyNotRerun(step, model, trans),
    act: step => rerun(parts, step)
  });
  parts.app.commands.addCommand(CommandIDs.plan, {
    label: trans.__('Plan: What Running All Cells Would Do'),
    describedBy: { args: { type: 'object', properties: {} } },
    isEnabled: () => model.answer?.kind === 'run',
    execute: () => show(parts, { kind: 'plan' })
  });
  inquiry.stateChanged.connect(() => parts.app.commands.notifyCommandChanged());
  return [
    CommandIDs.decide,
    CommandIDs.inspect,
    CommandIDs.explain,
    CommandIDs.unlock,
    CommandIDs.rerun,
    CommandIDs.plan
  ];
}

interface StepCommand {
  readonly label: string;
  /** Where it is said which step is meant. */
  readonly short: string;
  readonly caption: string;
  readonly whyNot: (step: StepView | null) => string;
  readonly act: (step: StepView) => Promise<void>;
}

function add(parts: StepParts, id: string, command: StepCommand): void {
  const { commands } = parts.app;
  const { label, short, caption, whyNot, act } = command;
  const why = (args: ReadonlyPartialJSONObject): string => whyNot(stepFor(parts, args));
  const options: CommandRegistry.ICommandOptions = {
    label: args => ('step' in args ? short : label),
    caption: args => why(args) || caption,
    describedBy: ONE_STEP,
    isEnabled: args => why(args) === '',
    // in the menu of a plain cell it has no place
    isVisible: args =>
      args.isPalette === true || 'step' in args || activeStep(parts) !== null,
    execute: async args => {
      const step = stepFor(parts, args);
      if (step !== null && whyNot(step) === '') {
        await act(step);
      }
    }
  };
  commands.addCommand(id, options);
}

/** Return the step that a command is about; null if there is none. */
function stepFor(parts: StepParts, args: ReadonlyPartialJSONObject): StepView | null {
  const { answer, resumePoint } = parts.model;
  if (answer?.kind !== 'run') {
    return null;
  }
  const { steps } = answer.view;
  if (typeof args.step === 'string') {
    return steps.find(({ name }) => name === args.step) ?? null;
  }
  const name = activeStep(parts);
  return name === null ? resumePoint : (steps.find(step => step.name === name) ?? null);
}

/** Return the name of the step whose cell is active; null if it is a plain one. */
function activeStep({ follower }: StepParts): string | null {
  const cell = follower.panel?.content.activeCell;
  return cell ? stepOf(textOf(cell.model)) : null;
}

async function show(
  { app, inquiry }: StepParts,
  question: Parameters<Inquiry['ask']>[0]
): Promise<void> {
  await app.commands.execute(CommandIDs.show);
  await inquiry.ask(question);
}

/** Take the lock of a step's cell off, and go there. */
async function unlock(parts: StepParts, step: StepView): Promise<void> {
  const { panel } = parts.follower;
  if (panel !== null) {
    parts.decorator.unlock(panel, step.name);
    await parts.hand.goTo(panel, step.cellId, step.name);
  }
}

/** Let a committed step run again, and run its cell. */
async function rerun(parts: StepParts, step: StepView): Promise<void> {
  const { follower, hand } = parts;
  const { panel } = follower;
  if (panel !== null && (await mayRerun(parts, step)) && (await load(panel, parts))) {
    await hand.runStep(panel, step.cellId, step.name);
  }
  await follower.refresh();
}

/** Record that a step may run again; where it acts on the outside a person says why. */
async function mayRerun(parts: StepParts, step: StepView): Promise<boolean> {
  const { model, trans } = parts;
  if (step.hasEffects) {
    const way = {
      how: 'rerun',
      command: `%steps rerun ${step.name} --because TEXT`,
      text: trans.__(
        'It acts on the outside, and does so again; effects on record are replayed.'
      ),
      effect: ''
    };
    return ask(parts, { ...step, ways: [way] });
  }
  const because = trans.__('asked for in the page');
  const refusal = await settle(parts, { step: step.name, how: 'rerun', because });
  if (refusal !== null) {
    model.setSaid(Object.values(refusal).filter(Boolean).join('\n'));
  }
  return refusal === null;
}

/** Ask until the server has the decision; then look again. */
async function decide(parts: StepParts, step: StepView): Promise<void> {
  await ask(parts, step);
  await parts.follower.refresh();
}

/** Ask for a decision; what was filled in is kept until one is recorded. */
async function ask(parts: StepParts, step: StepView): Promise<boolean> {
  const { drafts, model, trans } = parts;
  const { path } = model;
  const question = {
    step,
    title: trans.__('Decide about step %1', step.name),
    accept: trans.__('Decide'),
    draft: drafts.of(path, step),
    keep: (draft: Draft) => drafts.keep(path, step, draft),
    trans
  };
  return askAbout(question, decision => settle(parts, decision));
}

/** Record a decision; return why it was refused, or null. */
async function settle(
  { client, model, trans }: StepParts,
  decision: Decision
): Promise<Refusal | null> {
  const told = await client.decide(model.path, decision);
  if (told.kind === 'told') {
    model.setSaid(told.told);
    return null;
  }
  return told.kind === 'refused'
    ? told.refusal
    : { message: sentences(told, trans).join(' '), because: '', remedy: '' };
}
