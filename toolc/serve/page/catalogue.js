// @ts-check
/** The catalog: every tool that this client may use, with search. */

import { get } from "./api.js";
import { badge, element, icon, link } from "./elements.js";

/**
 * @typedef {object} Summary
 * @property {string} name
 * @property {string} title
 * @property {string} description
 * @property {string[]} tags
 * @property {boolean} confirm
 * @property {boolean} deprecated
 */

/**
 * @param {HTMLElement} place
 * @param {import("./main.js").Route} route
 */
export async function show(place, route) {
  const tools = /** @type {Summary[]} */ ((await get(["tools"], route.signal)).tools);
  const list = element("ul", { class: "tools" });
  const count = element("p", { class: "count", role: "status" });
  const search = element("input", { id: "search", type: "search", autocomplete: "off", spellcheck: "false" });
  const fill = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = tools.filter((each) => words.every((word) => text(each).includes(word)));
    list.replaceChildren(...found.map(row));
    count.replaceChildren(found.length === tools.length ? `${tools.length} tools` : `${found.length} of ${tools.length} tools`);
  };
  search.addEventListener("input", fill);
  place.append(
    element("h1", null, "Catalog"),
    element("div", { class: "search" }, element("label", { for: "search" }, icon("search", "Search")), search),
    count,
    list,
  );
  fill();
}

/** @param {Summary} tool */
function text(tool) {
  return `${tool.name} ${tool.title} ${tool.description} ${tool.tags.join(" ")}`.toLowerCase();
}

/** @param {Summary} tool */
function row(tool) {
  return element(
    "li",
    null,
    link(["tools", tool.name], tool.name),
    tool.deprecated && badge("deprecated", "warning", "alert"),
    tool.confirm && badge("asks first", "info", "person"),
    element("p", null, tool.description),
  );
}
