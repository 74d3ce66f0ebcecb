// @ts-check
/** The properties of a JSON Schema as a table. */

import { element } from "./elements.js";

const MAX_DEPTH = 4;

/** Keywords that are shown as they are, behind the type. */
const BOUNDS = [
  "minLength", "maxLength", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
  "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
];

/** @param {any} schema */
export function parameterTable(schema) {
  const rows = [...rowsOf(schema, "", 0)];
  if (rows.length === 0) {
    return element("p", { class: "muted" }, "None.");
  }
  const head = ["Name", "Type", "Description"].map((each) => element("th", { scope: "col" }, each));
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of values" }, element("table", null, element("thead", null, element("tr", null, ...head)), element("tbody", null, ...rows)));
}

/**
 * Yield a row for each property, and for those of nested objects and of the items of lists.
 *
 * @param {any} schema
 * @param {string} prefix
 * @param {number} depth
 * @returns {Generator<HTMLElement>}
 */
function* rowsOf(schema, prefix, depth) {
  const properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {};
  for (const [name, part] of Object.entries(properties)) {
    const isRequired = Array.isArray(schema.required) && schema.required.includes(name);
    const value = isObject(part) ? part : {};
    yield element(
      "tr",
      null,
      element("th", { scope: "row" }, element("bdi", { class: "mono" }, prefix + name), isRequired ? element("span", { class: "muted" }, " required") : null),
      element("td", null, element("bdi", { class: "mono" }, typeText(value)), boundsText(value)),
      element("td", { dir: "auto" }, typeof value.description === "string" ? value.description : ""),
    );
    if (depth < MAX_DEPTH) {
      yield* rowsOf(value, `${prefix}${name}.`, depth + 1);
      yield* rowsOf(value.items, `${prefix}${name}[].`, depth + 1);
    }
  }
}

/** @param {any} schema @returns {string} */
function typeText(schema) {
  if (!isObject(schema)) {
    return "any";
  }
  if ("const" in schema) {
    return JSON.stringify(schema.const);
  }
  if (Array.isArray(schema.enum)) {
    return schema.enum.map((/** @type {unknown} */ each) => JSON.stringify(each)).join(" | ");
  }
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(alternatives)) {
    return alternatives.map(typeText).join(" | ");
  }
  if (typeof schema.$ref === "string") {
    return schema.$ref.split("/").pop() || schema.$ref;
  }
  const type = [schema.type ?? "any"].flat().join(" | ");
  return type === "array" && isObject(schema.items) ? `list of ${typeText(schema.items)}` : type;
}

/** @param {any} schema */
function boundsText(schema) {
  const found = BOUNDS.filter((each) => each in schema).map((each) => `${each} ${JSON.stringify(schema[each])}`);
  if ("default" in schema) {
    found.unshift(`default ${JSON.stringify(schema.default)}`);
  }
  return found.length ? element("span", { class: "bounds" }, found.join(", ")) : null;
}

/** @param {unknown} value @returns {value is Record<string, any>} */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
