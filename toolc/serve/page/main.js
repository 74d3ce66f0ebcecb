// @ts-check
/**
 * The start of the page: the table of views, and which of them an address shows.
 *
 * A view exports `show(place, route)`, which fills the element `place`. `route.signal` is aborted when another view is
 * shown; requests and listeners that end with the view use it.
 */

import { Problem, get, isFile } from "./api.js";
import { announce, element, link, notice } from "./elements.js";
import * as catalogue from "./catalogue.js";
import * as confirmations from "./confirmations.js";
import * as history from "./history.js";
import * as review from "./review.js";
import * as signIn from "./sign_in.js";
import * as tool from "./tool.js";
import * as trial from "./try.js";

/**
 * The address `#/tools/NAME?provider=gemini` has `parts` ["tools", NAME].
 *
 * @typedef {object} Route
 * @property {string[]} parts
 * @property {URLSearchParams} query
 * @property {AbortSignal} signal
 *
 * @typedef {object} View
 * @property {string} title
 * @property {(place: HTMLElement, route: Route) => void | Promise<void>} show
 * @property {boolean} [isListed] whether the navigation has it
 * @property {"reviewer"} [role] the role that it needs
 * @property {boolean} [isInFile] whether the file of `toolc catalog` has it
 */

/** The views, by the first part of an address. @type {Record<string, View>} */
const VIEWS = {
  "": { title: "Catalog", show: catalogue.show, isListed: true, isInFile: true },
  tools: { title: "Tool", show: tool.show, isInFile: true },
  review: { title: "Review", show: review.show, isListed: true, role: "reviewer" },
  try: { title: "Try", show: trial.show },
  calls: { title: "Call", show: history.showCall },
  history: { title: "History", show: history.show, isListed: true },
  confirmations: { title: "Confirmations", show: confirmations.show, isListed: true, role: "reviewer" },
  "sign-in": { title: "Sign in", show: signIn.show },
};

/** @type {AbortController | null} */
let current = null;

/** @returns {Omit<Route, "signal">} */
function parsed() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?", 2);
  try {
    return { parts: path.split("/").map(decodeURIComponent), query: new URLSearchParams(search ?? "") };
  } catch {
    return { parts: [""], query: new URLSearchParams() }; // a damaged address
  }
}

/** Show the view of the present address. @param {boolean} movesFocus */
async function showCurrent(movesFocus) {
  const place = /** @type {HTMLElement} */ (document.getElementById("place"));
  current?.abort();
  const controller = new AbortController();
  current = controller;
  const route = { ...parsed(), signal: controller.signal };
  const [name, subject] = route.parts;
  const view = Object.hasOwn(VIEWS, name) ? VIEWS[name] : null;
  markCurrent(name);
  const titled = name === "tools" ? subject : null; // other parts may be secret
  document.title = `${titled ?? view?.title ?? "Not found"} · toolc`;
  place.replaceChildren();
  window.scrollTo(0, 0);
  if (movesFocus) {
    place.focus({ preventScroll: true });
    announce(document.title);
  }
  try {
    if (!view || (isFile && !view.isInFile)) {
      throw new Problem(404, "there is no view at this address");
    }
    place.setAttribute("aria-busy", "true");
    await view.show(place, route);
  } catch (error) {
    if (!controller.signal.aborted) {
      place.replaceChildren(failed(error));
    }
  } finally {
    if (current === controller) {
      place.removeAttribute("aria-busy");
    }
  }
}

/** @param {unknown} error */
function failed(error) {
  const written = error instanceof Error ? error.message : String(error);
  const message = written.startsWith("send a token") ? "run toolc token link where the server runs, and open its link" : written;
  const status = error instanceof Problem ? error.status : -1;
  const titles = new Map([[0, "No connection"], [401, "Sign in"], [403, "Not allowed"], [404, "Not found"]]);
  return notice(titles.get(status) ?? "This did not work", message, " ", link([], "Go to the catalog"));
}

/** @param {string} name */
function markCurrent(name) {
  for (const each of document.querySelectorAll("#views a")) {
    const isCurrent = each.getAttribute("href") === `#/${name}` || (name === "tools" && each.getAttribute("href") === "#/");
    if (isCurrent) {
      each.setAttribute("aria-current", "page");
    } else {
      each.removeAttribute("aria-current");
    }
  }
}

/**
 * Show the navigation, with the views that this client may use.
 *
 * @param {import("./api.js").Client | null} client
 */
function showViews(client) {
  const nav = /** @type {HTMLElement} */ (document.getElementById("views"));
  const isUsable = (/** @type {View} */ view) => (view.isInFile || !isFile) && (!view.role || view.role === client?.role);
  const listed = Object.entries(VIEWS).filter(([, view]) => view.isListed && isUsable(view));
  nav.replaceChildren(...(listed.length > 1 ? listed.map(([name, view]) => link([name], view.title)) : []));
  markCurrent(parsed().parts[0]);
}

async function start() {
  const skip = /** @type {HTMLElement} */ (document.getElementById("skip"));
  skip.addEventListener("click", () => document.getElementById("place")?.focus());
  addEventListener("hashchange", () => showCurrent(true));
  addEventListener("toolc-client", (event) => showViews(/** @type {CustomEvent} */ (event).detail));
  showViews(null);
  await signIn.showClient(); // before the view asks with a session that may have ended
  showCurrent(false);
}

start();
