/** Names that other extensions, settings and tests may rely on. */

export const PLUGIN_ID = 'nbresume:plugin';
export const SIDEBAR_ID = 'nbresume-sidebar';
export const STATUS_ID = 'nbresume:status';
export const DOMAIN = 'nbresume';

export namespace CommandIDs {
  export const show = 'nbresume:show';
  export const refresh = 'nbresume:refresh';
  export const enable = 'nbresume:enable';
  export const resume = 'nbresume:resume';
  export const goTo = 'nbresume:go-to-step';
  export const plan = 'nbresume:plan';
  export const restore = 'nbresume:restore';
  /** These, as `goTo`, take a step by its name: `{step}`. */
  export const unlock = 'nbresume:unlock-step';
  export const rerun = 'nbresume:rerun-step';
  export const decide = 'nbresume:decide';
  export const explain = 'nbresume:explain-step';
  export const inspect = 'nbresume:inspect-step';
}
