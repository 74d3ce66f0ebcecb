// @ts-check
/**
 * Fields of a form. Each shows one value of a JSON Schema. The server validates, so a field can also hold a value that
 * the schema does not allow.
 *
 * @typedef {import("./schemas.js").Schema} Schema
 *
 * @typedef {object} Field
 * @property {HTMLElement} element
 * @property {() => unknown} read returns the value, or undefined if there is none
 * @property {() => [string, Field][]} children the fields inside, by their keys
 * @property {(message: string) => void} showProblem
 *
 * @typedef {object} Place where a field is
 * @property {Schema} root the schema to which references refer
 * @property {string} name
 * @property {number} depth
 * @property {() => void} changed is called after each change
 */

import { announce, append, button, element, icon } from "./elements.js";
import { alternatives, applied, boundsOf, choiceFor, entryOf, holds, isObject, itemOf, namesOf, requiredOf, resolved, same, startOf, typeOf } from "./schemas.js";

/** How deep fields are nested. What is deeper is written as JSON. */
const MAX_DEPTH = 12;

let identifiers = 0;

/** Return an id that no other element has. @param {string} prefix */
export function newIdentifier(prefix) {
  identifiers += 1;
  return `${prefix}-${identifiers}`;
}

/**
 * Return a field for a value. Without a value, it starts empty.
 *
 * @param {unknown} schema
 * @param {unknown} value
 * @param {Place} place
 * @returns {Field}
 */
export function makeField(schema, value, place) {
  const found = resolved(schema, place.root);
  const choices = alternatives(found, place.root);
  const isShown = value === undefined || choices.some((each) => holds(each, value));
  if (place.depth > MAX_DEPTH || choices.length === 0 || !isShown) {
    return jsonField(found, value, place);
  }
  return choices.length > 1 ? choiceField(found, choices, value, place) : plainField(choices[0], value, place);
}

/**
 * @param {Schema} schema
 * @param {unknown} value
 * @param {Place} place
 * @returns {Field}
 */
function plainField(schema, value, place) {
  if ("const" in schema) {
    return fixedField(schema, schema.const, place);
  }
  if (Array.isArray(schema.enum)) {
    return selectField(schema, schema.enum, value, place);
  }
  switch (typeOf(schema)) {
    case "boolean": return selectField(schema, [true, false], value, place);
    case "null": return fixedField(schema, null, place);
    case "string": return textField(schema, value, place);
    case "integer":
    case "number": return numberField(schema, value, place);
    case "object": return objectField(schema, value, place);
    case "array": return listField(schema, value, place);
    default: return jsonField(schema, value, place);
  }
}

/**
 * Return a labelled control with a description and a place for a problem.
 *
 * @param {Schema} schema
 * @param {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement | HTMLOutputElement} control
 * @param {Place} place
 * @param {() => unknown} read
 * @returns {Field}
 */
function controlField(schema, control, place, read) {
  control.id = newIdentifier("field");
  const hints = hintsOf(schema, control.id);
  const problem = problemOf(control.id);
  control.setAttribute("aria-describedby", [...hints.map((each) => each.id), problem.id].join(" "));
  control.addEventListener("input", () => {
    control.removeAttribute("aria-invalid");
    problem.replaceChildren();
    place.changed();
  });
  const label = element("label", { for: control.id }, place.name);
  return {
    element: element("div", { class: "field" }, label, hints, control, problem),
    read,
    children: () => [],
    showProblem(message) {
      control.setAttribute("aria-invalid", "true");
      append(problem, element("span", null, message));
    },
  };
}

/**
 * @param {Schema} schema
 * @param {string} identifier
 */
function hintsOf(schema, identifier) {
  const type = typeOf(schema);
  const isShown = schema.enum || "const" in schema || ["object", "array", "boolean", "null"].includes(type);
  const bounds = [isShown ? "" : type, boundsOf(schema)].filter(Boolean).join(", ");
  return [
    bounds && element("p", { class: "bounds", id: `${identifier}-bounds` }, bounds),
    schema.description && element("p", { class: "hint", id: `${identifier}-hint` }, String(schema.description)),
  ].filter((each) => each instanceof HTMLElement);
}

/** @param {string} identifier */
function problemOf(identifier) {
  return element("p", { class: "problem", id: `${identifier}-problem`, "aria-live": "polite" });
}

/**
 * @param {Schema} schema
 * @param {unknown} value
 * @param {Place} place
 */
function fixedField(schema, value, place) {
  return controlField(schema, element("output", null, shown(value)), place, () => value);
}

/**
 * @param {Schema} schema
 * @param {unknown[]} values
 * @param {unknown} value
 * @param {Place} place
 */
function selectField(schema, values, value, place) {
  const control = element("select", null, element("option", { value: "" }, "Choose…"));
  const isClear = new Set(values.map(shown)).size === values.length; // not "2.1" beside 2.1
  append(control, values.map((each, index) => element("option", { value: index }, isClear ? shown(each) : JSON.stringify(each))));
  control.value = String(values.findIndex((each) => same(each, value)));
  control.value ||= "";
  return controlField(schema, control, place, () => (control.value === "" ? undefined : values[Number(control.value)]));
}

/** @param {unknown} value */
function shown(value) {
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}

/** Kinds of `input` for formats, of those that write a value as JSON Schema does. Text of other formats may have lines. */
const INPUTS = new Map([["date", "date"], ["email", "email"], ["uri", "url"]]);

/**
 * @param {Schema} schema
 * @param {unknown} value
 * @param {Place} place
 */
function textField(schema, value, place) {
  const attributes = { placeholder: example(schema), spellcheck: "false", autocomplete: "off" };
  const type = /[\r\n]/.test(String(value ?? "")) ? undefined : INPUTS.get(schema.format);
  const control = type
    ? element("input", { type, ...attributes })
    : element("textarea", { rows: 1, ...attributes });
  control.value = String(value ?? "");
  if (control.value !== String(value ?? "")) {
    return jsonField(schema, value, place); // a control cannot hold every text, such as one with \r
  }
  let isEdited = value !== undefined;
  control.addEventListener("input", () => { isEdited = true; });
  return controlField(schema, control, place, () => (isEdited ? control.value : undefined));
}

/** @param {Schema} schema */
function example(schema) {
  const [first] = Array.isArray(schema.examples) ? schema.examples : [];
  return first === undefined ? null : `e.g. ${shown(first)}`;
}

/**
 * @param {Schema} schema
 * @param {unknown} value
 * @param {Place} place
 */
function numberField(schema, value, place) {
  const control = element("input", { type: "text", inputmode: "decimal", placeholder: example(schema), autocomplete: "off" });
  control.value = value === undefined ? "" : String(value);
  return controlField(schema, control, place, () => {
    const text = control.value.trim();
    const number = Number(text);
    // The server reads text as a number, too, and keeps digits that this language would lose.
    const isExact = Number.isSafeInteger(number) || (Number.isFinite(number) && !Number.isInteger(number)) || String(number) === text;
    return text === "" ? undefined : isExact && /^-?[0-9]/.test(text) && !/^-?0[xob]/i.test(text) ? number : text;
  });
}

/**
 * Return a field for JSON, for values of any form. Text that is not JSON is a string.
 *
 * @param {Schema} schema
 * @param {unknown} value
 * @param {Place} place
 */
function jsonField(schema, value, place) {
  const control = element("textarea", { rows: 2, class: "mono", spellcheck: "false", placeholder: "JSON, or text" });
  control.value = value === undefined ? "" : JSON.stringify(value, null, 2);
  return controlField(schema, control, place, () => {
    try {
      return JSON.parse(control.value);
    } catch {
      return control.value.trim() === "" ? undefined : control.value;
    }
  });
}

/**
 * Return a group of fields with a name.
 *
 * @param {Schema} schema
 * @param {Place} place
 * @param {HTMLElement[]} content
 * @param {() => unknown} read
 * @param {() => [string, Field][]} children
 * @returns {Field}
 */
function groupField(schema, place, content, read, children) {
  const identifier = newIdentifier("group");
  const hints = hintsOf(schema, identifier);
  const problem = problemOf(identifier);
  const described = [...hints.map((each) => each.id), problem.id].join(" ");
  const legend = element("legend", null, place.name);
  return {
    element: element("fieldset", { class: "group", "aria-describedby": described }, legend, hints, problem, content),
    read,
    children,
    showProblem: (message) => append(problem, element("span", null, message)),
  };
}

/**
 * @param {Schema} schema
 * @param {unknown} value
 * @param {Place} place
 */
function objectField(schema, value, place) {
  const given = isObject(value) ? value : {};
  if (Object.keys(given).some((key) => /[\r\n]/.test(key))) {
    return jsonField(schema, value, place); // no input can hold such a key
  }
  const list = element("div", { class: "fields" });
  /** @type {Map<string, { field: Field, isRequired: boolean }>} */
  const fields = new Map();
  const inner = { ...place, depth: place.depth + 1, changed: () => { update(read()); place.changed(); } };
  const now = applied(schema, given, place.root);
  const own = isObject(now.properties) ? now.properties : {};
  const others = Object.entries(given).filter(([key]) => !Object.hasOwn(own, key));
  const hasEntries = others.length > 0 || isObject(schema.patternProperties) || isObject(schema.additionalProperties)
    || schema.additionalProperties === true || Object.keys(own).length === 0 && schema.additionalProperties !== false;
  const map = hasEntries ? entriesOf(schema, others, inner) : null;

  function read() {
    const own = [...fields].map(([key, { field }]) => /** @type {[string, unknown]} */ ([key, field.read()]));
    return Object.fromEntries([...own, ...map?.read() ?? []].filter(([, each]) => each !== undefined));
  }

  /**
   * Show the fields that apply to the present value. A field that stays is left alone, because it may have the focus.
   *
   * @param {Record<string, unknown>} present
   */
  function update(present) {
    const whole = applied(schema, present, place.root);
    const required = requiredOf(whole);
    const keys = orderedKeys(schema, whole);
    const before = new Set(fields.values());
    for (const [key, { field }] of fields) {
      if (!keys.includes(key)) {
        field.element.remove();
        fields.delete(key);
      }
    }
    keys.forEach((key, index) => {
      const old = fields.get(key), isRequired = required.includes(key);
      if (old?.isRequired === isRequired) {
        return;
      }
      const start = Object.hasOwn(present, key) ? present[key] : undefined;
      const field = (isRequired ? makeField : optionalField)(whole.properties[key], start, { ...inner, name: key });
      old?.field.element.remove();
      list.insertBefore(field.element, list.children[index] ?? null);
      fields.set(key, { field, isRequired });
    });
    if (list.isConnected && (before.size !== fields.size || [...fields.values()].some((each) => !before.has(each)))) {
      announce("The fields have changed");
    }
  }
  update(given);
  update(read()); // a field with one possible value may meet a condition
  return groupField(schema, place, [list, ...(map ? [map.element] : [])], read, () => [
    ...[...fields].map(([key, { field }]) => /** @type {[string, Field]} */ ([key, field])), ...map?.children() ?? [],
  ]);
}

/**
 * Return the keys of the fields of an object: those that are always required, the optional ones, and those of conditions.
 *
 * @param {Schema} schema
 * @param {Schema} whole the schema with the parts of the conditions that apply
 */
function orderedKeys(schema, whole) {
  const own = Object.keys(isObject(schema.properties) ? schema.properties : {}), required = requiredOf(schema);
  const later = Object.keys(isObject(whole.properties) ? whole.properties : {}).filter((key) => !own.includes(key));
  return [...own.filter((key) => required.includes(key)), ...own.filter((key) => !required.includes(key)), ...later];
}

/**
 * Return a field that is absent until a person sets it.
 *
 * @param {unknown} schema
 * @param {unknown} value
 * @param {Place} place
 * @returns {Field}
 */
function optionalField(schema, value, place) {
  const found = resolved(schema, place.root);
  const identifier = newIdentifier("optional");
  const box = element("input", { type: "checkbox", id: identifier });
  const hints = hintsOf(found, identifier);
  const problem = problemOf(identifier);
  const about = element("div", null, "default" in found && element("p", { class: "bounds" }, `default: ${shown(found.default)}`), hints);
  const content = element("div", { class: "value" });
  box.setAttribute("aria-describedby", [...hints.map((each) => each.id), problem.id].join(" "));
  /** @type {Field | null} */
  let field = null;

  /** @param {unknown} start */
  function set(start) {
    field = makeField(schema, start, place);
    content.replaceChildren(field.element);
    about.hidden = true;
    box.checked = true;
  }
  box.addEventListener("change", () => {
    problem.replaceChildren();
    if (box.checked) {
      set(startOf(schema, place.root) ?? undefined); // whoever sets it wants another value than null, the default of many
      focusFirst(content);
    } else {
      field = null;
      content.replaceChildren();
      about.hidden = false;
    }
    place.changed();
  });
  if (value !== undefined) {
    set(value);
  }
  const label = element("label", { for: identifier }, box, element("span", null, element("strong", null, place.name), " optional"));
  return {
    element: element("div", { class: "optional" }, label, about, problem, content),
    read: () => field?.read(),
    children: () => field?.children() ?? [],
    showProblem: (message) => (field ? field.showProblem(message) : append(problem, element("span", null, message))),
  };
}

/** @param {HTMLElement} content */
export function focusFirst(content) {
  const first = content.querySelector("input, select, textarea, button");
  if (first instanceof HTMLElement) {
    first.focus();
  }
}

/**
 * Return a field with a choice between alternatives.
 *
 * @param {Schema} schema
 * @param {Schema[]} choices
 * @param {unknown} value
 * @param {Place} place
 * @returns {Field}
 */
function choiceField(schema, choices, value, place) {
  const control = element("select", { "aria-label": `Form of ${place.name}` });
  append(control, namesOf(choices, place.root).map((each, index) => element("option", { value: index }, each)));
  control.value = String(value === undefined ? 0 : choiceFor(choices, value, place.root));
  const content = element("div", { class: "chosen" });
  const inner = { ...place, depth: place.depth + 1 };
  let field = plainField(choices[Number(control.value)], value, inner);
  content.append(field.element);
  control.addEventListener("change", () => {
    const choice = choices[Number(control.value)];
    field = plainField(choice, startOf(choice, place.root), inner);
    content.replaceChildren(field.element);
    place.changed();
  });
  const about = { description: schema.description };
  return groupField(about, place, [control, content], () => field.read(), () => field.children());
}

/**
 * @param {Schema} schema
 * @param {unknown} value
 * @param {Place} place
 */
function listField(schema, value, place) {
  /** @type {Field[]} */
  const items = [];
  const list = element("ol", { class: "items" });
  const inner = { ...place, depth: place.depth + 1 };

  /** @param {unknown} start */
  function add(start) {
    const field = makeField(itemOf(schema, items.length), start, { ...inner, name: `${place.name} ${items.length}` });
    items.push(field);
    const row = element("li", null, field.element);
    row.append(button([icon("cross", `Remove this item of ${place.name}`)], () => {
      const rest = items.filter((each) => each !== field).map((each) => each.read());
      items.length = 0;
      list.replaceChildren();
      rest.forEach(add); // their names have new numbers
      more.focus();
      announce("Item removed");
      place.changed();
    }, { class: "quiet" }));
    list.append(row);
    return row;
  }
  const more = button(`Add to ${place.name}`, () => {
    focusFirst(add(startOf(itemOf(schema, items.length), place.root)));
    place.changed();
  });
  for (const each of Array.isArray(value) ? value : []) {
    add(each);
  }
  const read = () => items.map((each) => orEmpty(each.read()));
  return groupField(schema, place, [list, more], read, () => items.map((each, index) => [String(index), each]));
}

/**
 * An item or an entry exists even without a value.
 *
 * @param {unknown} value
 */
function orEmpty(value) {
  return value === undefined ? "" : value;
}

/**
 * Return fields for the entries of an object whose keys a person chooses.
 *
 * @param {Schema} schema
 * @param {[string, unknown][]} given
 * @param {Place} place
 */
function entriesOf(schema, given, place) {
  /** @type {{ key: HTMLInputElement, field: Field }[]} */
  const rows = [];
  const list = element("ul", { class: "items" });

  /**
   * @param {string} name
   * @param {unknown} value
   */
  function add(name, value) {
    const key = element("input", { type: "text", "aria-label": `Key in ${place.name}`, placeholder: "key", autocomplete: "off" });
    key.value = name;
    key.addEventListener("input", place.changed);
    const field = makeField(entryOf(schema, name), value, { ...place, name: "value" });
    const row = { key, field };
    rows.push(row);
    const line = element("li", null, key, field.element);
    line.append(button([icon("cross", `Remove this entry of ${place.name}`)], () => {
      rows.splice(rows.indexOf(row), 1);
      line.remove();
      more.focus();
      announce("Entry removed");
      place.changed();
    }, { class: "quiet" }));
    list.append(line);
    return line;
  }
  const more = button(`Add an entry to ${place.name}`, () => {
    focusFirst(add("", startOf(entryOf(schema, ""), place.root)));
    place.changed();
  });
  for (const [key, value] of given) {
    add(key, value);
  }
  return {
    element: element("div", null, list, more),
    read: () => rows.map(({ key, field }) => /** @type {[string, unknown]} */ ([key.value, orEmpty(field.read())])),
    children: () => rows.map(({ key, field }) => /** @type {[string, Field]} */ ([key.value, field])),
  };
}
