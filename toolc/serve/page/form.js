// @ts-check
/**
 * A form for the arguments of a tool: fields from its JSON Schema, and the same value as JSON.
 *
 * @typedef {import("./fields.js").Field} Field
 * @typedef {import("./schemas.js").Schema} Schema
 */

import { append, button, element } from "./elements.js";
import { makeField, newIdentifier } from "./fields.js";
import { startOf } from "./schemas.js";

export class Form {
  /**
   * @param {Schema} schema
   * @param {unknown} [value] the arguments with which the form starts
   */
  constructor(schema, value) {
    const identifier = newIdentifier("form"); // there may be several forms in a view
    this.schema = schema;
    this.problems = element("ul", { class: "problems" });
    this.panel = element("div", { class: "panel", role: "tabpanel", tabindex: 0 });
    this.area = element("textarea", {
      rows: 12, class: "mono", spellcheck: "false", "aria-label": "Arguments as JSON", "aria-describedby": `${identifier}-hint`,
    });
    this.hint = element("p", { class: "hint", id: `${identifier}-hint` },
      "The fields do not show rules such as not and contains. The server checks the arguments against all rules.");
    this.tabs = ["Fields", "JSON"].map((name, index) => button(name, () => this.choose(index), {
      role: "tab", id: `${identifier}-${name.toLowerCase()}`,
    }));
    const tablist = element("div", { role: "tablist", class: "tabs", "aria-label": "How to write the arguments" }, this.tabs);
    tablist.addEventListener("keydown", (event) => this.chooseWithKey(event));
    this.element = element("div", { class: "form" }, tablist, element("div", { role: "alert" }, this.problems), this.panel);
    this.isJson = false;
    this.field = this.newField(value === undefined ? startOf(schema, schema) ?? {} : value);
    this.show();
  }

  /** Return the arguments as JSON text. In the JSON tab, it is the text as it was written. */
  text() {
    return this.isJson ? this.area.value : JSON.stringify(this.read());
  }

  read() {
    const value = this.field.read();
    return value === undefined ? {} : value;
  }

  /**
   * Replace the arguments.
   *
   * @param {unknown} value
   */
  write(value) {
    this.field = this.newField(value);
    this.area.value = JSON.stringify(value, null, 2);
    this.clearProblems();
    this.show();
  }

  /**
   * Show the message about wrong arguments that a model would get, each problem at its field.
   *
   * @param {string} message
   */
  showProblems(message) {
    this.clearProblems();
    const lines = message.split("\n- ").slice(1);
    for (const line of lines.length ? lines : [message]) {
      const found = this.isJson ? null : located(this.field, line);
      found?.field.showProblem(found.message);
      append(this.problems, element("li", null, line));
    }
    const invalid = this.panel.querySelector("[aria-invalid=true]");
    if (invalid instanceof HTMLElement) {
      invalid.focus();
    }
  }

  clearProblems() {
    this.problems.replaceChildren();
    for (const each of this.panel.querySelectorAll(".problem")) {
      each.replaceChildren();
    }
    for (const each of this.panel.querySelectorAll("[aria-invalid]")) {
      each.removeAttribute("aria-invalid");
    }
  }

  /** @param {unknown} value */
  newField(value) {
    const schema = { ...this.schema, title: undefined, description: undefined };
    return makeField(schema, value, { root: this.schema, name: "Arguments", depth: 0, changed: () => {} });
  }

  /** @param {number} index */
  choose(index) {
    const toJson = index === 1;
    if (toJson === this.isJson) {
      return;
    }
    if (toJson) {
      this.area.value = JSON.stringify(this.read(), null, 2);
    } else {
      try {
        this.field = this.newField(JSON.parse(this.area.value));
      } catch (error) {
        this.problems.replaceChildren(element("li", null, `This is not JSON: ${error instanceof Error ? error.message : error}`));
        return;
      }
    }
    this.isJson = toJson;
    this.clearProblems();
    this.show();
  }

  /** @param {KeyboardEvent} event */
  chooseWithKey(event) {
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      this.choose(this.isJson ? 0 : 1);
      this.tabs[this.isJson ? 1 : 0].focus();
      event.preventDefault();
    }
  }

  show() {
    this.tabs.forEach((each, index) => {
      const isChosen = (index === 1) === this.isJson;
      each.setAttribute("aria-selected", String(isChosen));
      each.tabIndex = isChosen ? 0 : -1;
    });
    this.panel.setAttribute("aria-labelledby", this.tabs[this.isJson ? 1 : 0].id);
    this.panel.replaceChildren(...(this.isJson ? [this.area, this.hint] : [this.field.element]));
  }
}

/**
 * Return the field that a line such as `filters.0.name: expected a string` is about. Keys may contain dots.
 *
 * @param {Field} field
 * @param {string} line
 * @returns {{ field: Field, message: string } | null}
 */
export function located(field, line) {
  const children = field.children().sort(([left], [right]) => right.length - left.length);
  for (const [key, child] of children) {
    if (line.startsWith(`${key}: `)) {
      return { field: child, message: line.slice(key.length + 2) };
    }
    if (line.startsWith(`${key}.`)) {
      return located(child, line.slice(key.length + 1)) ?? { field: child, message: line };
    }
  }
  return null;
}
