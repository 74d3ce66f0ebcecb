// @ts-check
/** One tool: what the models of each provider see, its permissions and limits, its tests, and its state in the lock file. */

import { get, isFile, send } from "./api.js";
import { lockBadge, stateBadges, testBadge } from "./catalogue.js";
import { announce, append, badge, button, code, copyButton, element, icon, json, link } from "./elements.js";
import { PARTS, RISKS, riskOf } from "./permissions.js";
import { parameterTable } from "./parameters.js";

/**
 * @typedef {{ pointer: string, action: string, message: string, sdk: string }} Loss
 * @typedef {{ definition: any, losses: Loss[], tokens: number }} Definition
 * @typedef {{ surface: string, effect: string }} Digests
 * @typedef {{ number: number, outcome: string, duration_ms: number, problems: string[], digests: Digests }} LastResult
 * @typedef {{ tool: string, moved: string, fields: string[] | null, detail: string }} LockChange
 *
 * @typedef {import("./catalogue.js").Summary & {
 *   parameters: any, result: any, examples: any[], aliases: string[], backend: Record<string, any>,
 *   programs: { path: string, text: string | null }[],
 *   permissions: Record<string, import("./permissions.js").Grant[]>,
 *   providers: Record<string, Definition>,
 *   tests: any[], results: LastResult[],
 *   digests: Digests,
 *   lock_file: string | null, lock_changes?: LockChange[],
 * }} Tool
 */

/** What the parts of a lock file mean. @type {Record<string, string>} */
export const LOCK_PARTS = {
  added: "It is not in the lock file",
  removed: "It is in the lock file, but there is no such tool now",
  surface: "The text for models or the parameters changed",
  effect: "What a call does changed",
  image: "The image changed",
  packages: "The packages changed",
  base: "The base image changed",
};

/**
 * @param {HTMLElement} place
 * @param {import("./main.js").Route} route
 */
export async function show(place, route) {
  const tool = /** @type {Tool} */ (await get(["catalog", route.parts[1] ?? ""], route.signal));
  const risk = RISKS[riskOf(tool)];
  place.append(
    element("nav", { class: "trail", "aria-label": "Path" }, link([], "Catalog")),
    element(
      "div",
      { class: "heading" },
      element("h1", { class: "mono" }, tool.name),
      tool.title ? element("bdi", { class: "muted" }, tool.title) : null,
      element("span", { class: "states" }, stateBadges(tool), badge(risk.text, risk.tone), lockBadge(tool.lock), testBadge(tool)),
      element("span", { class: "actions" }, isFile ? null : link(["try", tool.name], [icon("play"), "Try it"], { class: "primary" }), copyButton(() => location.href, "Copy link")),
    ),
    tool.deprecated ? element("p", { class: "callout warning" }, icon("alert"), element("span", null, "Deprecated: ", element("bdi", null, tool.deprecated))) : "",
    lockSection(tool) ?? "",
    element(
      "div",
      { class: "columns" },
      element("div", null, providersSection(tool, route), parametersSection(tool), examplesSection(tool), testsSection(tool), programsSection(tool)),
      element("aside", { "aria-label": "Facts" }, permissionsSection(tool, risk.why), limitsSection(tool), tokensSection(tool), digestsSection(tool)),
    ),
  );
}

/**
 * @param {string} title
 * @param {...(import("./elements.js").Child | import("./elements.js").Child[])} children
 */
function section(title, ...children) {
  return element("section", { class: "card" }, element("h2", null, title), ...children);
}

/** Return what is not approved, if anything is. @param {Tool} tool */
function lockSection(tool) {
  if (tool.lock === null || tool.lock === "approved") {
    return null;
  }
  const changes = tool.lock === "new" ? [{ tool: tool.name, moved: "added", fields: null, detail: "" }] : (tool.lock_changes ?? []);
  return element(
    "section",
    { class: "callout bad", "aria-label": "Lock file" },
    icon("alert"),
    element(
      "div",
      null,
      element("p", null, element("strong", null, "Not approved by ", element("bdi", null, tool.lock_file ?? "the lock file"), ".")),
      lockChanges(changes),
      isFile ? null : element("p", null, link(["review"], "Review the changes")),
    ),
  );
}

/** Return a list of differences from the lock file. @param {LockChange[]} changes */
export function lockChanges(changes) {
  return element(
    "ul",
    { class: "plain" },
    ...changes.map(({ moved, fields, detail }) =>
      element(
        "li",
        null,
        LOCK_PARTS[moved] ?? moved,
        detail ? [" (", element("bdi", null, detail), ")."] : ".",
        fields?.length ? [" Fields: ", element("bdi", { class: "mono" }, fields.join(", ")), "."] : null,
      ),
    ),
  );
}

/**
 * Return the definitions of all providers, of which one is shown.
 *
 * @param {Tool} tool
 * @param {import("./main.js").Route} route
 */
function providersSection(tool, route) {
  const names = Object.keys(tool.providers);
  const wanted = route.query.get("provider") ?? "";
  const panel = element("div", { id: "provider-panel", role: "tabpanel", tabindex: 0 });
  /** @param {string} name */
  const choose = (name) => {
    for (const tab of tabs) {
      const isChosen = tab.id === `provider-${name}`;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", `provider-${name}`);
    panel.replaceChildren(...definitionParts(tool, name));
  };
  const tabs = names.map((name) =>
    button(name, () => {
      choose(name);
      history.replaceState(null, "", `#/tools/${encodeURIComponent(tool.name)}?provider=${name}`);
    }, { role: "tab", id: `provider-${name}`, "aria-controls": "provider-panel" }),
  );
  const list = element("div", { class: "tabs", role: "tablist", "aria-label": "Providers" }, ...tabs);
  list.addEventListener("keydown", (event) => moveTab(event, tabs));
  choose(names.includes(wanted) ? wanted : names.includes("anthropic") ? "anthropic" : names[0]);
  return section("As models see it", list, panel);
}

/**
 * Move between tabs with the arrow keys.
 *
 * @param {KeyboardEvent} event
 * @param {HTMLElement[]} tabs
 */
function moveTab(event, tabs) {
  const steps = new Map([["ArrowRight", 1], ["ArrowLeft", -1], ["Home", -tabs.length], ["End", tabs.length]]);
  const step = steps.get(event.key);
  if (step !== undefined) {
    event.preventDefault();
    const present = tabs.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    const isEnd = Math.abs(step) === tabs.length;
    const next = isEnd ? (step < 0 ? 0 : tabs.length - 1) : (present + step + tabs.length) % tabs.length;
    tabs[next].focus();
    tabs[next].click();
  }
}

/**
 * @param {Tool} tool
 * @param {string} name
 */
function definitionParts(tool, name) {
  const { definition, losses, tokens } = tool.providers[name];
  const lost = element(
    "div",
    { class: "losses" },
    element("h3", null, losses.length ? `Lost in this definition (${losses.length})` : "Nothing is lost"),
    losses.length === 0 ? element("p", { class: "muted" }, "The definition expresses the whole spec.") : null,
    element("ul", { class: "plain" }, ...losses.map(lossItem)),
  );
  const text = element(
    "div",
    null,
    element("h3", null, "Description"),
    element("p", { class: "description", dir: "auto" }, descriptionIn(definition) ?? "This definition has no description."),
    element("p", { class: "muted" }, `About ${tokens} tokens in each request.`),
  );
  const whole = element("details", null, element("summary", null, `The definition for ${name}`), json(definition, `Definition for ${name}`));
  return [element("div", { class: "beside" }, text, lost), whole];
}

/** @param {Loss} loss */
function lossItem(loss) {
  const tones = new Map([["dropped", "warning"], ["changed", "bad"], ["folded", "info"]]);
  return element(
    "li",
    null,
    badge(loss.action, tones.get(loss.action)),
    " ",
    element("bdi", { class: "mono" }, loss.pointer),
    element("p", null, loss.message, loss.sdk ? ` (only with the package ${loss.sdk})` : ""),
  );
}

/**
 * Return the description in the definition of any provider, which is next to the name.
 *
 * @param {any} value
 * @returns {string | null}
 */
function descriptionIn(value) {
  if (typeof value !== "object" || value === null) {
    return null;
  }
  if (typeof value.name === "string" && typeof value.description === "string") {
    return value.description;
  }
  return Object.values(value).map(descriptionIn).find((each) => each !== null) ?? null;
}

/** @param {Tool} tool */
function parametersSection(tool) {
  const whole = element("details", null, element("summary", null, "JSON Schema"), json(tool.parameters, "Parameters as JSON Schema"));
  const result = tool.result ? [element("h3", null, "Result"), parameterTable(tool.result), element("details", null, element("summary", null, "JSON Schema of the result"), json(tool.result, "Result as JSON Schema"))] : null;
  return section("Parameters", parameterTable(tool.parameters), whole, result);
}

/** @param {Tool} tool */
function examplesSection(tool) {
  return tool.examples.length ? section("Examples", ...tool.examples.map((each, index) => json(each, `Example ${index + 1}`))) : null;
}

/** @param {Tool} tool */
function testsSection(tool) {
  if (tool.tests.length === 0) {
    return section("Tests", element("p", { class: "muted" }, "This tool has no tests."));
  }
  const list = element("ol", { class: "plain tests" }, ...testItems(tool, tool.results));
  const problem = element("p", { class: "problem", role: "alert" });
  const run = button([icon("play"), "Run these tests"], async () => {
    run.disabled = true;
    problem.replaceChildren();
    announce("The tests are running");
    try {
      const { tests } = await (await send("POST", ["catalog", tool.name, "tests"])).json();
      list.replaceChildren(...testItems(tool, tests));
      announce("The tests have ended");
    } catch (error) {
      append(problem, error instanceof Error ? error.message : String(error));
    }
    run.disabled = false;
  });
  return section("Tests", isFile ? null : run, problem, list);
}

/**
 * Return the tests of a tool with their results, which may be of an older or a newer version of the tool.
 *
 * @param {Tool} tool
 * @param {LastResult[]} results
 */
function testItems({ tests, digests }, results) {
  return tests.map((test, index) => testItem(withoutEmpty(test), index, digests, results.find((each) => each.number === index + 1)));
}

/** Return a stored test without the values that a spec leaves out. @param {any} test */
function withoutEmpty(test) {
  const isWritten = (/** @type {[string, unknown]} */ [, each]) => each !== null && !(Array.isArray(each) && each.length === 0);
  const written = (/** @type {object} */ each) => Object.fromEntries(Object.entries(each).filter(isWritten));
  return written({ ...test, expect: test.expect && written(test.expect) });
}

/**
 * @param {unknown} test
 * @param {number} index
 * @param {Digests} digests
 * @param {LastResult} [last]
 */
function testItem(test, index, digests, last) {
  const isOutdated = last && (last.digests.surface !== digests.surface || last.digests.effect !== digests.effect);
  const duration = last ? ` in ${Math.round(last.duration_ms).toLocaleString("en")} ms` : "";
  const outcome = !last
    ? badge("no result")
    : last.outcome === "passed"
      ? badge(`passed${duration}`, isOutdated ? "plain" : "good", "check")
      : badge(`${last.outcome}${duration}`, isOutdated ? "plain" : "bad", "cross");
  return element(
    "li",
    null,
    element("p", { class: "states" }, element("strong", null, `Test ${index + 1}`), outcome, isOutdated && badge("out of date: another version of the tool", "warning", "clock")),
    last?.problems.map((each) => code(each, "Problem")),
    element("details", null, element("summary", null, "Arguments, files and expected result"), json(test, `Test ${index + 1}`)),
  );
}

/** @param {Tool} tool */
function programsSection(tool) {
  const files = tool.programs.map(({ path, text }) =>
    element("details", null, element("summary", { class: "mono" }, path), text === null ? element("p", { class: "muted" }, "Not text.") : code(text, path)),
  );
  const whole = element("details", { open: files.length === 0 }, element("summary", null, "As in the registry"), json(tool.backend, "Backend"));
  return section(`Programs (${tool.kind})`, ...files, whole);
}

/**
 * @param {Tool} tool
 * @param {string} why
 */
function permissionsSection(tool, why) {
  const parts = Object.entries(PARTS).filter(([name]) => name !== "limits" && tool.permissions[name]?.length);
  const rows = parts.flatMap(([name, [shape, words]]) => [
    element("dt", null, icon(shape), words),
    ...tool.permissions[name].map((grant) => element("dd", null, grantText(grant))),
  ]);
  return section("Permissions of a call", element("p", { class: "muted" }, `${why}.`), element("dl", { class: "facts" }, ...rows));
}

/** @param {import("./permissions.js").Grant} grant */
function grantText({ value, by }) {
  const steps = by.filter(Boolean);
  return [element("bdi", null, value ?? "the base image"), steps.length ? element("span", { class: "muted" }, ` by ${steps.join(", ")}`) : null];
}

/** @param {Tool} tool */
function limitsSection(tool) {
  const limits = tool.permissions.limits ?? [];
  const rows = limits.flatMap((grant) => {
    const [name, amount] = (grant.value ?? "").split(": ");
    return [element("dt", null, name.replaceAll("_", " ")), element("dd", null, amount ?? "")];
  });
  return limits.length ? section("Limits", element("dl", { class: "facts pairs" }, ...rows)) : null;
}

/** @param {Tool} tool */
function tokensSection(tool) {
  const rows = Object.entries(tool.providers).flatMap(([name, { tokens }]) => [element("dt", null, name), element("dd", null, tokens.toLocaleString("en"))]);
  return section("Tokens per request", element("dl", { class: "facts pairs" }, ...rows));
}

/** @param {Tool} tool */
function digestsSection(tool) {
  const values = [...Object.entries(tool.digests), ...(tool.aliases.length ? [["aliases", tool.aliases.join(", ")]] : []), ...(tool.tags.length ? [["tags", tool.tags.join(", ")]] : []), ...(tool.toolsets.length ? [["toolsets", tool.toolsets.join(", ")]] : [])];
  return section("Identity", element("dl", { class: "facts" }, ...values.flatMap(([name, value]) => [element("dt", null, name), element("dd", { class: "mono" }, value)])));
}
