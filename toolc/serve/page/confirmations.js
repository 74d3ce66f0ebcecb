// @ts-check
/**
 * Calls that wait until a reviewer allows, changes or denies them, with `toolc serve --confirm api`.
 *
 * @typedef {import("./main.js").Route} Route
 * @typedef {{ id: string, client: string, tool: string, question: string, arguments: unknown, asked: number }} Question
 */

import { get, send } from "./api.js";
import { announce, append, button, element, fill, icon, json, link, notice } from "./elements.js";
import { focusFirst } from "./fields.js";
import { Form } from "./form.js";

/** How often the server is asked for new questions, in milliseconds. */
const POLL_MS = 2000;

/**
 * @param {HTMLElement} place
 * @param {Route} route
 */
export async function show(place, route) {
  const list = element("div", { class: "questions" });
  const none = notice("No calls are waiting", "Calls of tools with ", element("code", null, "confirm: true"), " appear here, if the server runs with ",
    element("code", null, "--confirm api"), ".");
  /** @type {Map<string, HTMLElement>} */
  const shown = new Map();
  append(place, element("h1", null, "Confirmations"), none, list);

  async function update() {
    /** @type {Question[]} */
    const waiting = (await get(["confirmations"], route.signal)).confirmations;
    for (const [id, each] of shown) {
      if (!waiting.some((question) => question.id === id)) {
        each.remove();
        shown.delete(id);
      }
    }
    for (const question of waiting.filter((each) => !shown.has(each.id))) {
      const made = questionOf(question, update);
      shown.set(question.id, made);
      list.append(made);
      announce(`${question.client} wants to call ${question.tool}`);
    }
    none.hidden = shown.size > 0;
  }
  await update();
  const timer = setInterval(() => update().catch((error) => !route.signal.aborted && announce(error.message)), POLL_MS);
  route.signal.addEventListener("abort", () => clearInterval(timer));
}

/**
 * @param {Question} question
 * @param {() => Promise<void>} update
 */
function questionOf(question, update) {
  const title = `question-${question.id}`;
  const reason = element("input", { type: "text", id: `reason-${question.id}`, autocomplete: "off" });
  const problem = element("p", { class: "problem", role: "alert" });
  const args = element("div", null, json(question.arguments, "Arguments"));
  /** @type {Form | null} */
  let form = null;

  /** @param {object} answer */
  async function decide(answer) {
    problem.replaceChildren();
    try {
      const response = await send("POST", ["confirmations", question.id], { body: answer });
      if (response.status === 422) {
        throw new Error((await response.json()).error.message);
      }
      await update();
      announce("Answered");
      document.getElementById("place")?.focus(); // the button that had the focus has gone
    } catch (error) {
      fill(problem, error instanceof Error ? error.message : String(error));
    }
  }
  async function allow() {
    try {
      const unchanged = question.question ? { arguments: question.arguments } : {};
      await decide({ allow: true, ...(form ? { arguments: JSON.parse(form.text()) } : unchanged) });
    } catch (error) {
      fill(problem, `the arguments are not JSON: ${error instanceof Error ? error.message : error}`);
    }
  }
  const change = button("Change the arguments", async () => {
    change.disabled = true;
    const tool = await get(["tools", question.tool]).catch(() => ({ parameters: {} }));
    form = new Form(question.question ? {} : tool.parameters, question.arguments);
    args.replaceChildren(form.element);
    change.hidden = true;
    focusFirst(form.panel);
  }, { class: "quiet" });
  return element("article", { class: "question", "aria-labelledby": title },
    element("h2", { id: title }, question.client, " wants to call ", link(["tools", question.tool], question.tool)),
    element("p", { class: "hint" }, `asked at ${new Date(question.asked * 1000).toLocaleTimeString()}`),
    question.question && element("p", null, question.question),
    args, change, problem,
    element("p", { class: "actions" },
      button([icon("check"), "Allow"], allow, { class: "primary" }),
      button([icon("deny"), "Deny"], () => decide({ allow: false, reason: reason.value })),
      element("label", { for: reason.id }, "Reason, if denied"), reason,
    ),
  );
}
