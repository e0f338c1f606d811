/**
 * The fields of JSON that another program sent, each read as what it has to be.
 *
 * The rule: this file imports nothing, and it guesses nothing: what has another shape
 * raises `Misshapen`, which says where.
 */

export type Fields = Readonly<Record<string, unknown>>;

/** The JSON has not the shape that was asked for. */
export class Misshapen extends Error {}

/** Return the fields of an object. */
export function object(value: unknown, name: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Misshapen(`${name} is no object`);
  }
  return value as Fields;
}

/** Return the items of a list, each parsed. */
export function list<T>(
  value: unknown,
  name: string,
  parse: (item: unknown) => T
): readonly T[] {
  if (!Array.isArray(value)) {
    throw new Misshapen(`${name} is no list`);
  }
  return value.map(item => parse(item));
}

/** Return an object whose values are all texts. */
export function texts(value: unknown, name: string): Readonly<Record<string, string>> {
  const entries = Object.entries(object(value, name));
  return Object.fromEntries(entries.map(([key, item]) => [key, asText(item)]));
}

/** Return the field of this name, a text. */
export function text(fields: Fields, name: string): string {
  return asText(fields[name], name);
}

/** Return the field of this name, a number. */
export function count(fields: Fields, name: string): number {
  return asNumber(fields[name], name);
}

/** Return the field of this name, true or false. */
export function flag(fields: Fields, name: string): boolean {
  return asFlag(fields[name], name);
}

/** Return a value that is true or false. */
export function asFlag(value: unknown, name: unknown = 'an item'): boolean {
  if (typeof value !== 'boolean') {
    throw new Misshapen(`${String(name)} is neither true nor false`);
  }
  return value;
}

/** Return a value that is a text. */
export function asText(value: unknown, name: unknown = 'an item'): string {
  if (typeof value !== 'string') {
    throw new Misshapen(`${String(name)} is no text`);
  }
  return value;
}

/** Return a value that is a number. */
export function asNumber(value: unknown, name: unknown = 'an item'): number {
  if (typeof value !== 'number') {
    throw new Misshapen(`${String(name)} is no number`);
  }
  return value;
}

/** Return null, or the value parsed. */
export function orNull<T>(value: unknown, parse: (item: unknown) => T): T | null {
  return value === null ? null : parse(value);
}

/** Return which of the known words a value is. */
export function oneOf<T extends string>(
  known: readonly T[],
  value: unknown,
  name: string
): T {
  const found = known.find(item => item === value);
  if (found === undefined) {
    throw new Misshapen(`${name} ${String(value)}`);
  }
  return found;
}
