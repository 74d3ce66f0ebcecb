// @ts-check
/**
 * What a form needs to know about a JSON Schema: which values it has in mind, in words and as a start.
 *
 * @typedef {Record<string, any>} Schema an object; `true` and `false` are read as `{}` and `{not: {}}`
 */

/** How many references and alternatives may lead to another one, before a schema is taken to refer to itself. */
const MAX_STEPS = 32;

/** How many items a new list has, even if it demands more. */
const MAX_NEW_ITEMS = 10;

/** How deep a new value is filled in. What is deeper is empty, because schemas may contain themselves. */
const MAX_DEPTH = 8;

const KINDS = ["string", "integer", "number", "boolean", "object", "array", "null"];

/**
 * Return the schema that this one means: without references, and with `allOf` and the common part of alternatives merged.
 *
 * @param {unknown} schema
 * @param {Schema} root
 * @param {number} [steps]
 * @returns {Schema}
 */
export function resolved(schema, root, steps = 0) {
  const found = asSchema(schema);
  if (steps > MAX_STEPS) {
    return {};
  }
  if (typeof found.$ref === "string") {
    const { $ref, ...others } = found;
    return resolved({ ...asSchema(target($ref, root)), ...others }, root, steps + 1);
  }
  if (!Array.isArray(found.allOf)) {
    return found;
  }
  const { allOf, ...own } = found;
  return allOf.map((each) => resolved(each, root, steps + 1)).reduce(merged, own);
}

/** The key of the conditions of a merged schema, because two schemas can both have an `if`. */
const CONDITIONS = Symbol("conditions");

const CONDITIONAL = ["if", "then", "else", "dependentSchemas", "dependentRequired"];

/** @param {Schema} schema @returns {Schema[]} */
function conditionsOf(schema) {
  const own = CONDITIONAL.some((key) => key in schema) ? [schema] : [];
  return [...own, .../** @type {any} */ (schema)[CONDITIONS] ?? []];
}

/**
 * Return the schema of an object with the parts that apply to this value: of `then` or `else`, and of keys that others
 * depend on.
 *
 * @param {Schema} schema
 * @param {Record<string, unknown>} value
 * @param {Schema} root
 * @param {number} [steps]
 * @returns {Schema}
 */
export function applied(schema, value, root, steps = 0) {
  const parts = conditionsOf(schema).flatMap((each) => [
    "if" in each && (meets(each.if, value, root) ? each.then : each.else),
    ...Object.entries(each.dependentSchemas ?? {}).map(([key, part]) => Object.hasOwn(value, key) && part),
    ...Object.entries(each.dependentRequired ?? {}).map(([key, required]) => Object.hasOwn(value, key) && { required }),
  ]);
  if (steps > MAX_STEPS) {
    return schema;
  }
  return parts.filter(isObject).reduce((whole, each) => (
    merged(whole, applied(resolved(each, root), value, root, steps + 1))), schema);
}

/** @param {unknown} schema @returns {Schema} */
function asSchema(schema) {
  if (schema === false) {
    return { not: {} };
  }
  return isObject(schema) ? schema : {};
}

/**
 * @param {string} reference
 * @param {Schema} root
 */
function target(reference, root) {
  if (!reference.startsWith("#")) {
    return {};
  }
  /** @type {any} */
  let found = root;
  for (const step of reference.slice(1).split("/").slice(1)) {
    const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    found = typeof found === "object" && found !== null && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
}

/**
 * @param {Schema} left
 * @param {Schema} right
 */
function merged(left, right) {
  const conditions = [...conditionsOf(left), ...conditionsOf(right)];
  const without = Object.fromEntries(Object.entries({ ...right, ...left }).filter(([key]) => !CONDITIONAL.includes(key)));
  return {
    ...without,
    ...(conditions.length ? { [CONDITIONS]: conditions } : {}),
    ...(left.properties || right.properties ? { properties: { ...right.properties, ...left.properties } } : {}),
    ...(left.required || right.required ? { required: [...(left.required ?? []), ...(right.required ?? [])] } : {}),
  };
}

/**
 * Return the alternatives of a schema, each with what is common to all. One alternative means that there is no choice.
 *
 * @param {Schema} schema
 * @param {Schema} root
 * @param {number} [steps]
 * @returns {Schema[]}
 */
export function alternatives(schema, root, steps = 0) {
  const branches = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(branches) && branches.length && steps < MAX_STEPS) {
    const { anyOf, oneOf, title, description, default: _, ...common } = schema;
    return branches.flatMap((each) => {
      const branch = resolved(each, root);
      // Keys such as `required` of each branch often add to `properties` beside them.
      return isRecursive(branch, branches) ? [] : alternatives(merged(branch, common), root, steps + 1);
    });
  }
  if (Array.isArray(schema.type) && !Array.isArray(schema.enum)) {
    return schema.type.length ? schema.type.map((/** @type {string} */ type) => ({ ...schema, type })) : [{}];
  }
  return [schema];
}

/**
 * @param {Schema} branch
 * @param {unknown[]} branches
 */
function isRecursive(branch, branches) {
  return branch.anyOf === branches || branch.oneOf === branches;
}

/**
 * Return the type of the values: one of those of JSON Schema, or "" if it is not known.
 *
 * @param {Schema} schema
 */
export function typeOf(schema) {
  if (KINDS.includes(schema.type)) {
    return String(schema.type);
  }
  if (isObject(schema.properties) || isObject(schema.patternProperties) || isObject(schema.additionalProperties)) {
    return "object";
  }
  return schema.items !== undefined || Array.isArray(schema.prefixItems) ? "array" : "";
}

/**
 * Return a name for each alternative. Those that would have the same name get a number.
 *
 * @param {Schema[]} choices
 * @param {Schema} root
 */
export function namesOf(choices, root) {
  const names = choices.map((each, index) => nameOf(each, index, root));
  return names.map((each, index) => (names.filter((other) => other === each).length > 1 ? `${each} (${index + 1})` : each));
}

/**
 * @param {Schema} schema
 * @param {number} index
 * @param {Schema} root
 */
function nameOf(schema, index, root) {
  if (typeof schema.title === "string" && schema.title) {
    return schema.title;
  }
  if ("const" in schema) {
    return shown(schema.const);
  }
  const marks = Object.entries(schema.properties ?? {}).filter(([, each]) => isObject(each) && "const" in each);
  if (marks.length) {
    return marks.map(([key, each]) => `${key}: ${shown(/** @type {any} */ (each).const)}`).join(", ");
  }
  // Alternatives often differ only in what they require.
  const keys = [...new Set([...requiredOf(schema), ...Object.keys(schema.properties ?? {})])];
  const type = typeOf(schema) || `form ${index + 1}`;
  const items = type === "array" ? typeOf(resolved(itemOf(schema, 0), root)) : "";
  return keys.length ? `${type} with ${keys.slice(0, 3).join(", ")}` : type + (items && ` of ${items}`) + (schema.format ? ` (${schema.format})` : "");
}

/** @param {unknown} value */
function shown(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/**
 * Return the value with which a field starts. Undefined if a person must choose it.
 *
 * @param {unknown} schema
 * @param {Schema} root
 * @param {number} [depth]
 * @returns {unknown}
 */
export function startOf(schema, root, depth = 0) {
  const whole = resolved(schema, root);
  if ("default" in whole) {
    return structuredClone(whole.default);
  }
  const [found = {}] = alternatives(whole, root);
  if ("const" in found) {
    return structuredClone(found.const);
  }
  switch (Array.isArray(found.enum) ? "" : typeOf(found)) {
    case "object": return depth < MAX_DEPTH ? newObject(found, root, depth) : {};
    case "array": return depth < MAX_DEPTH ? newList(found, root, depth) : [];
    case "null": return null;
    default: return undefined;
  }
}

/**
 * @param {Schema} schema
 * @param {Schema} root
 * @param {number} depth
 */
function newObject(schema, root, depth) {
  const required = requiredOf(schema);
  const properties = Object.entries(schema.properties ?? {}).filter(([key]) => required.includes(key));
  const entries = properties.map(([key, each]) => [key, startOf(each, root, depth + 1)]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/**
 * @param {Schema} schema
 * @param {Schema} root
 * @param {number} depth
 */
function newList(schema, root, depth) {
  const count = Math.max(Number(schema.minItems) || 0, 0);
  return Array.from({ length: Math.min(count, MAX_NEW_ITEMS) }, (_, index) => startOf(itemOf(schema, index), root, depth + 1));
}

/** @param {Schema} schema @returns {string[]} */
export function requiredOf(schema) {
  return Array.isArray(schema.required) ? schema.required : [];
}

/**
 * Return the schema of an item of a list.
 *
 * @param {Schema} schema
 * @param {number} index
 */
export function itemOf(schema, index) {
  const first = Array.isArray(schema.prefixItems) ? schema.prefixItems : [];
  return index < first.length ? first[index] : schema.items ?? {};
}

/**
 * Return the schema of a key that `properties` does not list.
 *
 * @param {Schema} schema
 * @param {string} key
 */
export function entryOf(schema, key) {
  for (const [pattern, each] of Object.entries(schema.patternProperties ?? {})) {
    try {
      if (new RegExp(pattern, "u").test(key)) {
        return each;
      }
    } catch {
      // The server knows more patterns than this browser.
    }
  }
  return schema.additionalProperties ?? Object.values(schema.patternProperties ?? {})[0] ?? {};
}

/**
 * Return whether a value could be meant for a schema. It looks at types, constants and keys only; the server validates.
 *
 * @param {unknown} schema
 * @param {unknown} value
 * @param {Schema} root
 * @param {number} [depth]
 * @returns {boolean}
 */
export function fits(schema, value, root, depth = 0) {
  const whole = resolved(schema, root);
  return depth > MAX_DEPTH || alternatives(whole, root).some((each) => (
    holds(each, value) && (!isObject(value) || fitsObject(each, value, root, depth))));
}

/**
 * Return whether a value meets a condition. Keywords that conditions hardly use are taken as met; the server validates.
 *
 * @param {unknown} schema
 * @param {unknown} value
 * @param {Schema} root
 * @param {number} [depth]
 * @returns {boolean}
 */
function meets(schema, value, root, depth = 0) {
  if (typeof schema === "boolean" || depth > MAX_DEPTH) {
    return schema !== false;
  }
  const whole = resolved(schema, root);
  const inner = (/** @type {unknown} */ each) => meets(each, value, root, depth + 1);
  const types = whole.type === undefined ? [] : [whole.type].flat();
  return (types.length === 0 || types.some((each) => hasType(value, each)))
    && (!("const" in whole) || same(whole.const, value))
    && (!Array.isArray(whole.enum) || whole.enum.some((/** @type {unknown} */ each) => same(each, value)))
    && (!("not" in whole) || !inner(whole.not))
    && (!Array.isArray(whole.anyOf) || whole.anyOf.some(inner))
    && (!Array.isArray(whole.oneOf) || whole.oneOf.filter(inner).length === 1)
    && (typeof value !== "number" || meetsBounds(whole, value))
    && (typeof value !== "string" || meetsText(whole, value))
    && (!Array.isArray(value) || value.every((each) => !("items" in whole) || meets(whole.items, each, root, depth + 1)))
    && (!isObject(value) || requiredOf(whole).every((key) => Object.hasOwn(value, key)))
    && (!isObject(value) || Object.entries(whole.properties ?? {}).every(([key, each]) => (
      !Object.hasOwn(value, key) || meets(each, value[key], root, depth + 1))));
}

/**
 * @param {Schema} schema
 * @param {number} value
 */
function meetsBounds({ minimum = -Infinity, maximum = Infinity, exclusiveMinimum = -Infinity, exclusiveMaximum = Infinity }, value) {
  return value >= minimum && value <= maximum && value > exclusiveMinimum && value < exclusiveMaximum;
}

/**
 * @param {Schema} schema
 * @param {string} value
 */
function meetsText({ minLength = 0, maxLength = Infinity, pattern = "" }, value) {
  const { length } = [...value];
  try {
    return length >= minLength && length <= maxLength && new RegExp(pattern, "u").test(value);
  } catch {
    return true; // the server knows more patterns than this browser
  }
}

/**
 * Return whether fields for a schema without alternatives can show a value. They can show wrong values inside it.
 *
 * @param {Schema} schema
 * @param {unknown} value
 */
export function holds(schema, value) {
  if ("const" in schema || Array.isArray(schema.enum)) {
    return "const" in schema ? same(schema.const, value) : schema.enum.some((/** @type {unknown} */ each) => same(each, value));
  }
  const type = typeOf(schema);
  return type === "" || hasType(value, type);
}

/**
 * @param {Schema} schema
 * @param {Record<string, unknown>} value
 * @param {Schema} root
 * @param {number} depth
 */
function fitsObject(schema, value, root, depth) {
  const properties = schema.properties ?? {};
  return Object.entries(value).every(([key, each]) => (
    Object.hasOwn(properties, key) ? fits(properties[key], each, root, depth + 1) : schema.additionalProperties !== false
  ));
}

/**
 * Return the index of the alternative that a value is meant for: one that has all required keys, if there is one.
 *
 * @param {Schema[]} choices
 * @param {unknown} value
 * @param {Schema} root
 */
export function choiceFor(choices, value, root) {
  const fitting = choices.flatMap((each, index) => (fits(each, value, root) ? [index] : []));
  const possible = [...fitting, ...choices.flatMap((each, index) => (holds(each, value) ? [index] : []))];
  const isComplete = (/** @type {number} */ index) => (
    !isObject(value) || requiredOf(choices[index]).every((key) => Object.hasOwn(value, key)));
  return possible.find(isComplete) ?? possible[0] ?? 0;
}

/**
 * @param {unknown} value
 * @param {string} type
 */
function hasType(value, type) {
  switch (type) {
    case "null": return value === null;
    case "array": return Array.isArray(value);
    case "object": return isObject(value);
    case "integer": return Number.isInteger(value);
    default: return typeof value === type;
  }
}

/**
 * Return whether two values are the same JSON.
 *
 * @param {unknown} left
 * @param {unknown} right
 */
export function same(left, right) {
  return JSON.stringify(left) === JSON.stringify(right);
}

/** @param {unknown} value @returns {value is Record<string, any>} */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Return what a value must be, in words: the format and the bounds that a field does not show otherwise.
 *
 * @param {Schema} schema
 */
export function boundsOf(schema) {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, minItems, maxItems } = schema;
  const parts = [
    schema.format,
    between(minimum, maximum, ""),
    exclusiveMinimum !== undefined && `more than ${exclusiveMinimum}`,
    exclusiveMaximum !== undefined && `less than ${exclusiveMaximum}`,
    schema.multipleOf !== undefined && `a multiple of ${schema.multipleOf}`,
    between(minLength, maxLength, "characters"),
    between(minItems, maxItems, "items"),
    between(schema.minProperties, schema.maxProperties, "entries"),
    schema.uniqueItems === true && "all different",
    schema.pattern !== undefined && `pattern ${schema.pattern}`,
  ];
  return parts.filter(Boolean).join(", ");
}

/**
 * @param {unknown} least
 * @param {unknown} most
 * @param {string} unit
 */
function between(least, most, unit) {
  const words = least !== undefined && most !== undefined ? `${least} to ${most}`
    : least !== undefined ? `at least ${least}` : most !== undefined ? `at most ${most}` : "";
  return words && unit ? `${words} ${unit}` : words;
}
