// Which file may know which: a bottom layer, the client, the model, views, glue.
import tseslint from 'typescript-eslint';

const without = (files, group, message) => ({
  files,
  rules: { 'no-restricted-imports': ['error', { patterns: [{ group, message }] }] }
});

const GLUE = [
  './follow',
  './notebook',
  './lines',
  './marks',
  './decorate',
  './save',
  './starts',
  './forgotten',
  './resume',
  './commands',
  './stepcommands',
  './menu',
  './index'
];
const VIEWS = [
  './sidebar',
  './steps',
  './step',
  './list',
  './focus',
  './trail',
  './notices',
  './details',
  './inspected',
  './preview',
  './doubt',
  './evidence'
];

export default [
  {
    files: ['src/**/*.ts', 'src/**/*.tsx'],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: {
        project: './tsconfig.test.json',
        tsconfigRootDir: import.meta.dirname
      }
    },
    plugins: { '@typescript-eslint': tseslint.plugin },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-unnecessary-condition': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true }
      ],
      eqeqeq: 'error',
      'max-lines': ['error', 300],
      'no-console': 'error'
    }
  },
  without(
    ['src/fields.ts', 'src/tokens.ts', 'src/cells.ts', 'src/live.ts', 'src/rows.ts'],
    ['*'],
    'the bottom layer imports nothing'
  ),
  without(
    ['src/runview.ts', 'src/stored.ts', 'src/events.ts'],
    ['./*', '@*/**', 'react', '!./fields', '!./stored', '!./events'],
    'parsers know parsers'
  ),
  without(
    ['src/locks.ts', 'src/marker.ts'],
    ['@*/**', 'react', './model', './client', ...VIEWS, ...GLUE],
    'decisions about cells know no page'
  ),
  without(
    ['src/client.ts', 'src/kernel.ts', 'src/comm.ts'],
    [...VIEWS, ...GLUE],
    'what talks knows no view'
  ),
  without(
    ['src/model.ts', 'src/inquiry.ts', 'src/decision.ts'],
    ['@jupyterlab/*', 'react', './client', ...VIEWS, ...GLUE],
    'the model knows no page'
  ),
  without(
    VIEWS.map(view => `src/${view.slice(2)}.tsx`),
    ['./client', './kernel', ...GLUE],
    'views read the model only'
  )
];
