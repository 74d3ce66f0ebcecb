// @ts-check
/** The permissions of a tool in words and icons, and how much attention they need. */

import { element, icon } from "./elements.js";

/**
 * @typedef {{ value: string | null, by: string[] }} Grant
 * @typedef {{ hosts: string[], secrets: string[], workspaces: string[], tools: string[] }} Grants
 * @typedef {import("./elements.js").IconName} IconName
 * @typedef {{ shape: IconName, text: string, title: string }} Phrase
 * @typedef {"low" | "medium" | "high"} Risk
 */

/** The parts of the permissions of a call, as `toolc show` names them. @type {Record<string, [IconName, string]>} */
export const PARTS = {
  hosts: ["network", "Connects to"],
  secrets: ["key", "Has the secret"],
  workspaces: ["write", "Workspace"],
  transactions: ["write", "Transaction"],
  tools: ["tools", "Calls"],
  missing: ["alert", "Calls, but lacks"],
  images: ["package", "Runs in"],
  requirements: ["package", "With the package"],
  users: ["person", "As user"],
  isolation: ["lock", "Isolated by"],
  lifetimes: ["clock", "Lifetime"],
  limits: ["clock", "At most"],
};

/**
 * @param {string[]} values
 * @param {string} noun
 */
function counted(values, noun) {
  return values.length === 1 ? values[0] : `${values.length} ${noun}`;
}

/**
 * Return what a call may reach, in a few words.
 *
 * @param {Grants} grants
 * @returns {Phrase[]}
 */
export function phrases(grants) {
  /** @type {Phrase[]} */
  const found = [];
  if (grants.hosts.length) {
    found.push({ shape: "network", text: counted(grants.hosts, "hosts"), title: `Connects to ${grants.hosts.join(", ")}` });
  }
  if (grants.secrets.length) {
    const names = grants.secrets.map((each) => each.split(" ")[0]);
    found.push({ shape: "key", text: counted(names, "secrets"), title: `Has the secret ${grants.secrets.join(", ")}` });
  }
  if (grants.workspaces.length) {
    const text = writes(grants) ? "writes files" : "reads files";
    found.push({ shape: writes(grants) ? "write" : "file", text, title: `Workspace: ${grants.workspaces.join(", ")}` });
  }
  if (grants.tools.length) {
    found.push({ shape: "tools", text: counted(grants.tools, "tools"), title: `Calls ${grants.tools.join(", ")}` });
  }
  return found;
}

/** @param {Grants} grants */
function writes(grants) {
  return grants.workspaces.some((each) => each !== "ro");
}

/**
 * Return how much attention a tool needs. A tool that may connect and has files or secrets can take data out.
 *
 * @param {{ grants: Grants, annotations: { destructiveHint?: boolean, readOnlyHint?: boolean } }} tool
 * @returns {Risk}
 */
export function riskOf({ grants, annotations }) {
  const connects = grants.hosts.length > 0;
  const holds = grants.secrets.length > 0 || grants.workspaces.length > 0;
  if ((connects && holds) || (annotations.destructiveHint === true && annotations.readOnlyHint !== true)) {
    return "high";
  }
  return connects || grants.secrets.length > 0 || writes(grants) ? "medium" : "low";
}

/** What a risk means. @type {Record<Risk, { text: string, tone: string, why: string }>} */
export const RISKS = {
  low: { text: "low risk", tone: "good", why: "No network, no secrets, and it changes no files" },
  medium: { text: "medium risk", tone: "warning", why: "It connects to a host, has a secret, or changes files" },
  high: { text: "high risk", tone: "bad", why: "It may send data out, or destroy data" },
};

/**
 * Return the phrases as a list of icons with words.
 *
 * @param {Grants} grants
 */
export function phraseList(grants) {
  const found = phrases(grants);
  const items = found.map(({ shape, text, title }) => element("li", { title }, icon(shape), element("bdi", null, text)));
  const none = element("li", { class: "muted" }, "no network, no files");
  return element("ul", { class: "phrases", "aria-label": "Permissions" }, ...(items.length ? items : [none]));
}
