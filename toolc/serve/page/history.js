// @ts-check
/**
 * The calls of this browser tab. They are in the tab's own storage, which the browser removes with the tab.
 *
 * @typedef {import("./main.js").Route} Route
 * @typedef {{ id: string, tool: string, args: unknown, started: number, outcome: string }} PastCall
 */

import { append, badge, button, element, json, link, notice } from "./elements.js";
import { LiveCall } from "./live_call.js";
import { get } from "./api.js";

/** How many calls are kept. */
const MAX_CALLS = 100;

/** The longest arguments that are kept, in characters. */
const MAX_ARGUMENTS = 20_000;

const KEY = `toolc calls ${location.pathname}`;

/** @returns {PastCall[]} the newest first */
export function pastCalls() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
  } catch {
    return [];
  }
}

/**
 * Remember a call, or its outcome.
 *
 * @param {PastCall} call
 */
export function remember(call) {
  const kept = JSON.stringify(call.args).length > MAX_ARGUMENTS ? { ...call, args: null } : call;
  const calls = [kept, ...pastCalls().filter((each) => each.id !== call.id)].slice(0, MAX_CALLS);
  try {
    sessionStorage.setItem(KEY, JSON.stringify(calls.sort((left, right) => right.started - left.started)));
  } catch {
    // The storage is full or turned off. The call itself is not affected.
  }
}

/** Forget all calls. */
export function forget() {
  sessionStorage.removeItem(KEY);
}

/**
 * Return the outcome of a call for the history.
 *
 * @param {any} result
 */
export function outcomeOf(result) {
  return result ? result.error?.kind ?? "success" : "failed";
}

/** Ask for the outcomes of calls that ran when their view was left. */
async function update() {
  for (const call of pastCalls().filter((each) => each.outcome === "running")) {
    const now = await get(["calls", call.id]).catch(() => ({ status: "forgotten" }));
    if (now.status !== "running") {
      remember({ ...call, outcome: now.status === "forgotten" ? "unknown" : outcomeOf(now.result) });
    }
  }
}

/**
 * @param {HTMLElement} place
 */
export async function show(place) {
  await update();
  const calls = pastCalls();
  append(place, element("h1", null, "History"), element("p", { class: "hint" },
    `The last ${MAX_CALLS} calls of this browser tab. The server keeps their results for ten minutes.`));
  if (calls.length === 0) {
    append(place, notice("No calls yet", "Choose a tool in the ", link([], "catalog"), " and try it."));
    return;
  }
  const head = element("tr", null, ["Time", "Tool", "Arguments", "Outcome", "Actions"].map((each) => element("th", { scope: "col" }, each)));
  const table = element("table", { class: "history" }, element("thead", null, head), element("tbody", null, calls.map(rowOf)));
  append(place, element("div", { class: "wide" }, table), button("Forget all", () => {
    forget();
    place.replaceChildren();
    show(place);
  }));
}

/** @param {PastCall} call */
function rowOf(call) {
  const isGood = call.outcome === "success";
  const args = call.args === null ? "too long to keep" : JSON.stringify(call.args);
  return element("tr", null,
    element("td", null, new Date(call.started).toLocaleTimeString()),
    element("td", null, link(["tools", call.tool], call.tool)),
    element("td", { class: "mono" }, args.length > 120 ? `${args.slice(0, 120)}…` : args),
    element("td", null, badge(call.outcome, isGood ? "good" : call.outcome === "running" ? "info" : "bad")),
    element("td", null, link(["calls", call.id], "Result", { "aria-label": `Result of ${call.tool}` }), " ",
      call.args !== null && link(["try", call.tool, call.id], "Repeat", { "aria-label": `Repeat ${call.tool} with changes` })),
  );
}

/**
 * Show one call, by its id.
 *
 * @param {HTMLElement} place
 * @param {Route} route
 */
export async function showCall(place, route) {
  const [, id] = route.parts;
  const call = await get(["calls", id], route.signal);
  const past = pastCalls().find((each) => each.id === id);
  const live = new LiveCall({ id, tool: call.tool }, route.signal);
  append(place,
    element("p", { class: "trail" }, link(["history"], "History")),
    element("h1", null, `Call of ${call.tool}`),
    element("p", { class: "hint" }, `${id}, started ${new Date(call.started * 1000).toLocaleString()}`),
    past && past.args !== null && [element("h2", null, "Arguments"), json(past.args, "Arguments"), link(["try", call.tool, id], "Repeat with changes")],
    live.element,
  );
  live.follow();
}
