// @ts-check
/** The catalog: every tool that this client may use, with search and filters, which are part of the address. */

import { get } from "./api.js";
import { address, append, badge, element, icon, link, notice } from "./elements.js";
import { RISKS, phraseList, riskOf } from "./permissions.js";
import { VirtualList } from "./virtual_list.js";

/**
 * @typedef {object} Summary
 * @property {string} name
 * @property {string | null} title
 * @property {string} description
 * @property {string} kind
 * @property {string[]} tags
 * @property {string[]} toolsets
 * @property {{ destructiveHint?: boolean, readOnlyHint?: boolean }} annotations
 * @property {boolean} confirm
 * @property {string | null} deprecated
 * @property {boolean} denied
 * @property {import("./permissions.js").Grants} grants
 * @property {"approved" | "changed" | "new" | null} lock
 * @property {("passed" | "failed" | "error" | "outdated" | "unknown")[]} outcomes of each test
 * @property {number} tokens
 *
 * @typedef {object} Catalog
 * @property {Summary[]} tools
 * @property {string[]} toolsets
 * @property {string[]} providers
 * @property {string} provider
 * @property {string | null} lock
 * @property {boolean} has_results
 * @property {string} problem why the tools of the server are not the newest
 */

const LOCK_WORDS = { approved: "approved", changed: "changed", new: "not approved" };
const TEST_WORDS = { pass: "tests pass", fail: "tests fail", outdated: "results out of date", none: "no results", untested: "no tests" };

/** @param {Summary} tool @returns {keyof typeof TEST_WORDS} */
export function testState({ outcomes }) {
  if (outcomes.length === 0) {
    return "untested";
  }
  if (failures(outcomes)) {
    return "fail";
  }
  return outcomes.includes("outdated") ? "outdated" : outcomes.includes("unknown") ? "none" : "pass";
}

/** @param {Summary["outcomes"]} outcomes */
function failures(outcomes) {
  return outcomes.filter((each) => each === "failed" || each === "error").length;
}

/** Return the state of a tool in a lock file. @param {Summary["lock"]} state */
export function lockBadge(state) {
  const tones = { approved: "good", changed: "bad", new: "warning" };
  return state && badge(LOCK_WORDS[state], tones[state], state === "approved" ? "lock" : "alert");
}

/** Return the last results of a tool's tests, if there are any. @param {Summary} tool */
export function testBadge(tool) {
  const passed = tool.outcomes.length, failed = failures(tool.outcomes);
  switch (testState(tool)) {
    case "pass":
      return badge(`${passed} ${passed === 1 ? "test passes" : "tests pass"}`, "good", "check");
    case "fail":
      return badge(`${failed} ${failed === 1 ? "test fails" : "tests fail"}`, "bad", "cross");
    case "outdated":
      return badge(TEST_WORDS.outdated, "warning", "clock");
    default:
      return null;
  }
}

/** Return the marks that a reader must not miss. @param {Summary} tool */
export function stateBadges(tool) {
  return [
    tool.denied && badge("denied here", "bad", "deny"),
    tool.deprecated !== null && badge("deprecated", "warning", "alert"),
    tool.confirm && badge("asks first", "info", "person"),
  ];
}

/**
 * The filters: their label, the values with the words for each, and whether a tool has the value.
 *
 * @param {Catalog} catalog
 * @returns {Record<string, { label: string, values: [string, string][], matches: (tool: Summary, value: string) => boolean }>}
 */
function filtersOf(catalog) {
  const tags = [...new Set(catalog.tools.flatMap((each) => each.tags))].sort();
  const used = catalog.toolsets.filter((name) => catalog.tools.some((each) => each.toolsets.includes(name)));
  return {
    toolset: { label: "Toolset", values: used.map((each) => [each, each]), matches: (tool, value) => tool.toolsets.includes(value) },
    tag: { label: "Tag", values: tags.map((each) => [each, each]), matches: (tool, value) => tool.tags.includes(value) },
    risk: {
      label: "Risk",
      values: Object.entries(RISKS).map(([name, { text }]) => [name, text]),
      matches: (tool, value) => riskOf(tool) === value,
    },
    lock: {
      label: "Lock file",
      values: catalog.lock === null ? [] : Object.entries(LOCK_WORDS),
      matches: (tool, value) => tool.lock === value,
    },
    tests: {
      label: "Tests",
      values: catalog.has_results ? Object.entries(TEST_WORDS) : [["untested", TEST_WORDS.untested]],
      matches: (tool, value) => testState(tool) === value,
    },
  };
}

/**
 * @param {HTMLElement} place
 * @param {import("./main.js").Route} route
 */
export async function show(place, route) {
  const provider = route.query.get("provider") ?? "anthropic";
  const catalog = /** @type {Catalog} */ (await get(["catalog"], route.signal, { provider }));
  if (catalog.tools.length === 0) {
    place.append(notice("No tools", "This client may not use any tool of this server."));
    return;
  }
  const filters = filtersOf(catalog);
  const list = new VirtualList("Tools", row, route.signal);
  const count = element("p", { class: "count", role: "status" });
  const none = element("p", { class: "empty", hidden: true }, "No tool matches. Remove a filter or a word.");
  const search = element("input", { id: "search", type: "search", autocomplete: "off", spellcheck: "false", placeholder: "Search names, descriptions and tags" });
  search.value = route.query.get("q") ?? "";
  const selects = Object.entries(filters).map(([name, { label, values }]) => select(name, label, [["", "all"], ...values], route.query.get(name)));
  const sorting = select("sort", "Sort by", [["", "name"], ["tokens", "tokens"], ["risk", "risk"]], route.query.get("sort"));
  const counted = select("provider", "Tokens for", catalog.providers.map((each) => [each, each]), catalog.provider);

  /** @returns {Record<string, string>} */
  const chosen = () => {
    const values = [...selects, sorting, counted].map(({ input }) => [input.name, input.value]);
    return { q: search.value.trim(), ...Object.fromEntries(values), ...(counted.input.value === "anthropic" ? { provider: "" } : {}) };
  };
  const fill = () => {
    const { q, sort, ...values } = chosen();
    const words = q.toLowerCase().split(/\s+/).filter(Boolean);
    const found = catalog.tools.filter(
      (tool) =>
        words.every((word) => text(tool).includes(word)) &&
        Object.entries(filters).every(([name, { matches }]) => !values[name] || matches(tool, values[name])),
    );
    list.show(sorted(found, sort));
    const tokens = found.reduce((sum, each) => sum + each.tokens, 0);
    const which = found.length === catalog.tools.length ? `${found.length} tools` : `${found.length} of ${catalog.tools.length} tools`;
    count.replaceChildren(`${which}, about ${tokens.toLocaleString("en")} tokens`);
    none.hidden = found.length > 0;
    history.replaceState(null, "", address([], chosen()));
  };
  search.addEventListener("input", fill);
  for (const { input } of [...selects, sorting]) {
    input.addEventListener("change", fill);
  }
  counted.input.addEventListener("change", () => location.assign(address([], chosen())));
  append(
    place,
    catalog.problem ? element("p", { class: "callout bad" }, icon("alert"), element("bdi", { class: "problem" }, catalog.problem)) : null,
    element("div", { class: "heading" }, element("h1", null, "Catalog"), count),
    element("div", { class: "search" }, element("label", { for: "search" }, icon("search", "Search")), search),
    element("div", { class: "filters", role: "group", "aria-label": "Filters" }, ...[...selects, sorting, counted].map(({ field }) => field)),
    none,
    list.element,
  );
  fill();
}

/**
 * Return a field of choices. It is hidden if there is no choice.
 *
 * @param {string} name
 * @param {string} label
 * @param {[string, string][]} values
 * @param {string | null} present
 */
function select(name, label, values, present) {
  const options = values.map(([value, words]) => element("option", { value }, words));
  const input = element("select", { name, id: `filter-${name}` }, ...options);
  input.value = values.some(([value]) => value === present) ? /** @type {string} */ (present) : values[0][0];
  const field = element("div", { class: "filter", hidden: values.length < 2 }, element("label", { for: input.id }, label), input);
  return { field, input };
}

/**
 * @param {Summary[]} tools
 * @param {string} order
 */
function sorted(tools, order) {
  const risks = ["high", "medium", "low"];
  if (order === "tokens") {
    return tools.toSorted((a, b) => b.tokens - a.tokens);
  }
  return order === "risk" ? tools.toSorted((a, b) => risks.indexOf(riskOf(a)) - risks.indexOf(riskOf(b))) : tools;
}

/** @type {WeakMap<Summary, string>} */
const TEXTS = new WeakMap();

/** Return the text in which a search looks. @param {Summary} tool */
function text(tool) {
  let found = TEXTS.get(tool);
  if (found === undefined) {
    found = [tool.name, tool.title ?? "", tool.description, ...tool.tags, ...tool.toolsets].join(" ").toLowerCase();
    TEXTS.set(tool, found);
  }
  return found;
}

/** @param {Summary} tool */
function row(tool) {
  const risk = RISKS[riskOf(tool)];
  return element(
    "div",
    { class: "tool" },
    element(
      "div",
      { class: "what" },
      element(
        "p",
        { class: "name" },
        link(["tools", tool.name], tool.name, { class: "row-link mono" }),
        tool.title ? element("bdi", { class: "muted" }, tool.title) : null,
        stateBadges(tool),
      ),
      element("p", { class: "about", dir: "auto" }, tool.description),
    ),
    phraseList(tool.grants),
    element("p", { class: "states" }, element("span", { title: risk.why }, badge(risk.text, risk.tone)), lockBadge(tool.lock), testBadge(tool)),
    element("p", { class: "tokens" }, `${tool.tokens.toLocaleString("en")} tokens`),
  );
}
