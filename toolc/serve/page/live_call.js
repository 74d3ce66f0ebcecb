// @ts-check
/**
 * A call while it runs: progress, output, connections and retries, as the server reports them, and then its result.
 */

import { get, send } from "./api.js";
import { announce, append, badge, button, element, fill, notice } from "./elements.js";
import { milliseconds, resultOf } from "./result.js";

/** How much output is shown. The oldest is dropped. */
const MAX_OUTPUT = 100_000;

/** How many connections are shown. */
const MAX_CONNECTIONS = 500;

export class LiveCall {
  /**
   * @param {{ id: string, tool: string }} call
   * @param {AbortSignal} signal ends following the call, not the call itself
   */
  constructor(call, signal) {
    this.call = call;
    this.signal = signal;
    /** @type {any} */
    this.result = null;
    this.state = element("p", { class: "state", role: "status" }, "waiting to start");
    this.progress = element("progress", { max: 100, "aria-label": "Progress", hidden: true });
    this.output = element("pre", { class: "output", tabindex: 0, role: "log", "aria-label": "Output", hidden: true });
    this.connections = element("tbody");
    const head = element("tr", null, ["Connection", "Decision", "Reason"].map((each) => element("th", { scope: "col" }, each)));
    this.network = element("table", { class: "connections", hidden: true }, element("thead", null, head), this.connections);
    this.cancel = button("Cancel", () => this.stop(), { class: "cancel" });
    this.ending = element("div");
    this.element = element("section", { class: "live", "aria-label": "Call" },
      element("div", { class: "actions" }, this.state, this.cancel), this.progress, this.output, this.network, this.ending);
  }

  /** Follow the call until it ends. Return its result, or null if it has none. */
  async follow() {
    try {
      const response = await send("GET", ["calls", this.call.id, "events"], { signal: this.signal });
      for await (const event of eventsOf(/** @type {ReadableStream<Uint8Array>} */ (response.body))) {
        this.show(event);
      }
      const ended = await get(["calls", this.call.id], this.signal);
      this.end(ended);
    } catch (error) {
      if (!this.signal.aborted) {
        this.ending.replaceChildren(notice("The call cannot be followed", error instanceof Error ? error.message : String(error)));
        this.cancel.hidden = true;
      }
    }
    return this.result;
  }

  async stop() {
    this.cancel.disabled = true;
    fill(this.state, "cancelling");
    await send("DELETE", ["calls", this.call.id]).catch((error) => announce(error.message));
  }

  /** @param {any} event */
  show(event) {
    const part = event.parent_call_id === undefined ? "" : `${event.name}: `;
    switch (event.event) {
      case "start":
        fill(this.state, `${part}running`);
        break;
      case "update":
        this.update(event, part);
        break;
      case "connect":
        this.connect(event);
        break;
      case "retry":
        this.output.replaceChildren();
        fill(this.state, `${part}attempt ${event.attempt} failed (${event.error.message}), next in ${milliseconds(event.wait_ms)}`);
        break;
      case "denied":
        fill(this.state, `${part}denied: ${event.reason}`);
        break;
    }
  }

  /**
   * @param {any} event
   * @param {string} part
   */
  update(event, part) {
    if (event.stream === undefined) {
      this.progress.hidden = false;
      if (event.percent === undefined) {
        this.progress.removeAttribute("value");
      } else {
        this.progress.value = event.percent;
      }
      fill(this.state, part + (event.message || "running"));
      return;
    }
    this.output.hidden = false;
    append(this.output, element("span", { class: event.stream }, event.text));
    for (let length = this.output.textContent?.length ?? 0; length > MAX_OUTPUT && this.output.firstChild;) {
      length -= this.output.firstChild.textContent?.length ?? 0;
      this.output.firstChild.remove();
    }
    this.output.scrollTop = this.output.scrollHeight;
  }

  /** @param {any} event */
  connect(event) {
    this.network.hidden = false;
    const decision = event.allowed ? badge("allowed", "good", "check") : badge("refused", "bad", "deny");
    const why = [event.reason, event.entry && `allowed by ${event.entry}`, event.would_allow && `would need ${event.would_allow}`];
    append(this.connections, element("tr", null,
      element("td", null, `${event.host}:${event.port}`), element("td", null, decision),
      element("td", null, why.filter(Boolean).join("; ")),
    ));
    if (this.connections.children.length > MAX_CONNECTIONS) {
      this.connections.firstElementChild?.remove();
    }
  }

  /** @param {any} call */
  end(call) {
    this.cancel.hidden = true;
    this.progress.hidden = true;
    this.result = call.result ?? null;
    const outcome = call.status === "failed" ? "failed" : this.result?.error ? `ended: ${this.result.error.kind}` : "ended: success";
    fill(this.state, outcome);
    this.ending.replaceChildren(this.result
      ? resultOf(this.result, this.call.tool)
      : notice("The call has no result", call.problem ?? ""));
  }
}

/**
 * Yield the data of server-sent events.
 *
 * @param {ReadableStream<Uint8Array>} body
 */
async function* eventsOf(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
    const messages = text.split("\n\n");
    text = messages.pop() ?? "";
    for (const message of messages) {
      const data = message.split("\n").find((line) => line.startsWith("data: "));
      if (data) {
        yield JSON.parse(data.slice("data: ".length));
      }
    }
  }
}
