// @ts-check
/**
 * Try a tool: a form for its arguments, the call while it runs, and its result.
 *
 * @typedef {import("./main.js").Route} Route
 */

import { client, get, send } from "./api.js";
import { append, button, code, copyButton, element, fill, icon, link } from "./elements.js";
import { Form } from "./form.js";
import { outcomeOf, pastCalls, remember } from "./history.js";
import { LiveCall } from "./live_call.js";
import { commandLine, curlRequest, pythonProgram, specTest } from "./requests.js";
import { uploads } from "./upload.js";

/**
 * @param {HTMLElement} place
 * @param {Route} route
 */
export async function show(place, route) {
  const [, name, repeated] = route.parts;
  const tool = await get(["tools", name], route.signal);
  const caller = await client();
  const past = pastCalls().find((each) => each.id === repeated);
  new Trial(place, tool, caller?.is_session ?? false, route.signal).show(past?.args ?? undefined);
}

class Trial {
  /**
   * @param {HTMLElement} place
   * @param {any} tool
   * @param {boolean} needsToken
   * @param {AbortSignal} signal
   */
  constructor(place, tool, needsToken, signal) {
    this.place = place;
    this.tool = tool;
    this.needsToken = needsToken;
    this.signal = signal;
    this.run = button([icon("play"), "Run"], () => this.start(), { class: "primary" });
    this.calls = element("div", { class: "calls" });
    this.requests = element("div", { class: "requests" });
  }

  /** @param {unknown} args */
  show(args) {
    const { tool } = this;
    this.form = new Form(tool.parameters, args);
    this.form.element.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        this.start();
      }
    });
    const requests = element("details", null, element("summary", null, "Copy the request"), this.requests);
    const refresh = () => requests.open && this.showRequests();
    requests.addEventListener("toggle", refresh);
    this.form.element.addEventListener("input", refresh);
    this.form.element.addEventListener("click", refresh); // of a button that adds or removes a value
    const examples = tool.examples.map((/** @type {unknown} */ each, /** @type {number} */ index) => (
      button(`Example ${index + 1}`, () => {
        this.form?.write(each);
        refresh();
      }, { class: "quiet" })));
    append(this.place,
      element("p", { class: "trail" }, link(["tools", tool.name], tool.name)),
      element("h1", null, `Try ${tool.title}`),
      element("p", { class: "description muted", dir: "auto" }, tool.description),
      element("div", { class: "trial" },
        element("div", null,
          examples.length > 0 && element("p", null, "Fill in: ", examples),
          this.form.element,
          tool.workspace !== "none" && uploads(this.signal),
          element("p", { class: "actions" }, this.run, element("span", { class: "hint" }, "or Ctrl+Enter")),
          tool.confirm && element("p", { class: "hint" }, "Calls of this tool wait for a confirmation."),
          requests,
        ),
        this.calls,
      ),
    );
  }

  /** Return the arguments as a value, or null if the JSON is not valid. */
  args() {
    try {
      return JSON.parse(this.form?.text() ?? "{}");
    } catch {
      return null;
    }
  }

  async start() {
    const { form, tool } = this;
    if (!form || this.run.disabled) {
      return;
    }
    form.clearProblems();
    this.run.disabled = true;
    try {
      await this.call(form);
    } catch (error) {
      form.showProblems(error instanceof Error ? error.message : String(error));
    } finally {
      this.run.disabled = false;
    }
  }

  /** @param {Form} form */
  async call(form) {
    const { tool } = this;
    const args = this.args();
    const body = new Blob([form.text()], { type: "application/json" });
    const response = await send("POST", ["tools", tool.name], { body, headers: { Prefer: "respond-async" }, signal: this.signal });
    const answer = await response.json();
    if (response.status !== 202) {
      form.showProblems(answer.error.message);
      return;
    }
    const live = new LiveCall({ id: answer.id, tool: tool.name }, this.signal);
    if (tool.confirm) {
      fill(live.state, "waiting for a confirmation");
    }
    const past = { id: answer.id, tool: tool.name, args, started: Date.now(), outcome: "running" };
    remember(past);
    this.calls.replaceChildren(live.element);
    this.calls.scrollIntoView({ block: "nearest" });
    const result = await live.follow();
    if (this.signal.aborted) {
      return;
    }
    remember({ ...past, outcome: outcomeOf(result) });
    if (result?.error?.kind === "invalid_args") {
      form.showProblems(result.error.message);
    }
    append(live.element, element("p", { class: "actions" },
      link(["calls", answer.id], "Link to this call"),
      result && copyButton(() => specTest(args, result), "Copy as test"),
    ));
  }

  showRequests() {
    const { name, source, workspace } = this.tool;
    const call = { tool: name, args: this.args() ?? {}, needsToken: this.needsToken, source, hasWorkspace: workspace !== "none" };
    const kinds = { curl: curlRequest(call), "toolc run": commandLine(call), Python: pythonProgram(call) };
    this.requests.replaceChildren(...Object.entries(kinds).flatMap(([kind, text]) => [
      element("h2", null, kind), code(text, `Request for ${kind}`), copyButton(() => text, `Copy for ${kind}`),
    ]));
  }
}
