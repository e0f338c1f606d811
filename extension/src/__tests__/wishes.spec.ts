/** What a person set. */

import { readFileSync } from 'fs';
import { join } from 'path';

import { DEFAULTS, wishesOf } from '../wishes';

interface Property {
  readonly default: boolean;
  readonly title: string;
  readonly description: string;
}

const SCHEMA = JSON.parse(
  readFileSync(join(__dirname, '../../schema/plugin.json'), 'utf-8')
) as { readonly properties: Readonly<Record<string, Property>> };

describe('wishesOf', () => {
  it('has the settings and defaults of the schema, each with a title', () => {
    const stated = Object.entries(SCHEMA.properties).map(([name, property]) => {
      expect(property.title).not.toBe('');
      expect(property.description).not.toBe('');
      return [name, property.default];
    });

    expect(Object.fromEntries(stated)).toEqual(DEFAULTS);
  });

  it('takes what was set, and passes over what it does not know', () => {
    const set = {
      autoLoad: true,
      offerResume: 'no',
      other: true,
      lockInMetadata: null
    };

    expect(wishesOf(set)).toEqual({ ...DEFAULTS, autoLoad: true });
  });
});
