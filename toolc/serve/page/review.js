// @ts-check
/** What changed in the specs since the lock file and since a commit: risks first, each with what a reviewer needs. */

import { get } from "./api.js";
import { address, append, badge, copyButton, element, json, link } from "./elements.js";
import { lockChanges } from "./tool.js";
import { sideBySide } from "./word_diff.js";

/**
 * @typedef {{ file: string, line: number, column: number } | null} Position
 *
 * @typedef {object} Change
 * @property {string} fingerprint
 * @property {string} kind
 * @property {string} rule
 * @property {string} grade
 * @property {string} message
 * @property {(string | number)[]} path
 * @property {string | null} before
 * @property {string | null} after
 * @property {Position} old
 * @property {Position} new
 * @property {string} [cause]
 * @property {{ value: unknown, refusal: string }} [witness]
 * @property {string} [no_witness]
 * @property {string[]} [approvers]
 *
 * @typedef {{ name: string, status: string, grade: string, from?: string, why?: string, changes: Change[] }} ToolDifference
 * @typedef {{ summary: string[], shared: Change[], tools: ToolDifference[] }} Difference
 *
 * @typedef {object} Review
 * @property {string} specs
 * @property {string | null} lock
 * @property {import("./tool.js").LockChange[] | null} lock_changes
 * @property {string | null} base
 * @property {string | null} commit
 * @property {Difference | null} difference
 */

/** The grades, most severe first, with their tones. */
const GRADES = new Map([
  ["critical", "bad"], ["high", "bad"], ["breaking", "bad"], ["medium", "warning"], ["warning", "warning"], ["low", "info"], ["compatible", "plain"],
]);

/** Risks and texts for models precede changes of the same grade that only callers notice. */
const KINDS = ["risk", "surface", "contract", "provider"];

/**
 * @param {HTMLElement} place
 * @param {import("./main.js").Route} route
 */
export async function show(place, route) {
  const base = route.query.get("base") ?? "";
  append(place, element("div", { class: "heading" }, element("h1", null, "Review"), baseForm(base)));
  const waiting = element("p", { class: "muted", role: "status" }, "Comparing the specs. This takes a few seconds.");
  append(place, waiting);
  const review = /** @type {Review} */ (await get(["review"], route.signal, { base }).finally(() => waiting.remove()));
  append(place, lockPart(review), ...differencePart(review));
  const wanted = document.getElementById(`change-${route.query.get("change")}`);
  wanted?.scrollIntoView();
  wanted?.focus();
}

/** Return the form with the commit to compare with. @param {string} base */
function baseForm(base) {
  const input = element("input", { id: "base", value: base, placeholder: "HEAD", autocomplete: "off", spellcheck: "false", class: "mono" });
  const form = element("form", { class: "base" }, element("label", { for: "base" }, "Compare with"), input, element("button", { type: "submit" }, "Compare"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    location.hash = address(["review"], { base: input.value.trim() });
  });
  return form;
}

/** @param {Review} review */
function lockPart({ lock, lock_changes }) {
  if (lock === null || lock_changes === null) {
    return element("p", { class: "muted part" }, "There is no lock file, so no tool is approved. Create one with: toolc lock");
  }
  const names = [...new Set(lock_changes.map((each) => each.tool))];
  const items = names.map((name) =>
    element("li", null, element("bdi", { class: "mono" }, name === "*" ? "all tools" : name), lockChanges(lock_changes.filter((each) => each.tool === name))),
  );
  const title = names.length ? `${lock} does not approve ${names.length === 1 ? "1 tool" : `${names.length} tools`}` : `${lock} approves every tool`;
  return element("section", { class: "card" }, element("h2", null, element("bdi", null, title)), element("ul", { class: "plain approvals" }, ...items));
}

/** @param {Review} review */
function differencePart({ base, commit, difference }) {
  if (difference === null || base === null) {
    return [element("p", { class: "muted part" }, "The specs are not in a Git repository with a commit, so there is nothing else to compare with.")];
  }
  const shared = difference.shared.map((change) => ({ tool: "", change }));
  const changes = [...shared, ...difference.tools.flatMap((tool) => tool.changes.map((change) => ({ tool: tool.name, change })))];
  const grades = [...GRADES.keys()];
  changes.sort((a, b) => grades.indexOf(a.change.grade) - grades.indexOf(b.change.grade) || KINDS.indexOf(a.change.kind) - KINDS.indexOf(b.change.kind));
  const moved = difference.tools.filter(({ status }) => status !== "changed");
  return [
    element(
      "section",
      { class: "card" },
      element("h2", null, "Since ", element("bdi", null, base), commit && base !== commit ? element("span", { class: "muted mono" }, ` ${commit.slice(0, 12)}`) : null),
      changes.length === 0 ? element("p", null, "No differences.") : null,
      element("ul", { class: "plain" }, ...difference.summary.map((each) => element("li", null, each)), ...moved.map(movedItem)),
    ),
    ...changes.map(({ tool, change }) => changeCard(tool, change, base)),
  ];
}

/** @param {ToolDifference} tool */
function movedItem({ name, status, from, why }) {
  return element("li", null, element("bdi", { class: "mono" }, name), `: ${status}`, from ? [" from ", element("bdi", { class: "mono" }, from), why ? ` (${why})` : ""] : null);
}

/**
 * @param {string} tool
 * @param {Change} change
 * @param {string} base
 */
function changeCard(tool, change, base) {
  const title = `change-${change.fingerprint}`;
  const here = () => new URL(address(["review"], { base: base === "HEAD" ? "" : base, change: change.fingerprint }), location.href).href;
  return element(
    "article",
    { class: `card change ${GRADES.get(change.grade) ?? "plain"}`, id: title, tabindex: -1, "aria-labelledby": `${title}-title` },
    element(
      "p",
      { class: "states" },
      badge(change.grade, GRADES.get(change.grade)),
      badge(change.kind),
      tool ? link(["tools", tool], tool, { class: "mono" }) : element("span", null, "all specs"),
      element("span", { class: "end" }, element("span", { class: "muted mono" }, `${change.rule} ${change.fingerprint}`), copyButton(here, "Copy link")),
    ),
    element("h3", { id: `${title}-title`, dir: "auto" }, change.message),
    element("p", { class: "muted" }, element("bdi", { class: "mono" }, change.path.join(".")), ...positions(change)),
    change.before !== null || change.after !== null ? sideBySide(change.before, change.after) : null,
    change.witness ? witness(change.witness) : null,
    change.no_witness ? element("p", { class: "muted" }, `No example: ${change.no_witness}`) : null,
    change.approvers?.length ? element("p", null, "Needs the approval of ", element("bdi", null, change.approvers.join(", ")), ".") : null,
  );
}

/** @param {Change} change */
function positions(change) {
  const place = change.new ?? change.old;
  return [place ? [" at ", element("bdi", null, `${place.file}:${place.line}`)] : null, change.cause ? [", caused by ", element("bdi", null, change.cause)] : null].flat();
}

/** @param {{ value: unknown, refusal: string }} found */
function witness({ value, refusal }) {
  return element(
    "div",
    { class: "witness" },
    element("p", null, "An example that one version accepts and the other refuses: ", element("bdi", { class: "muted" }, refusal)),
    json(value, "Example of a value"),
  );
}
