/** Names that other extensions, settings and tests may rely on. */

export const PLUGIN_ID = 'nbresume:plugin';
export const SIDEBAR_ID = 'nbresume-sidebar';
export const DOMAIN = 'nbresume';

export namespace CommandIDs {
  export const show = 'nbresume:show';
  export const refresh = 'nbresume:refresh';
  export const enable = 'nbresume:enable';
  export const resume = 'nbresume:resume';
  export const goTo = 'nbresume:go-to-step';
}
