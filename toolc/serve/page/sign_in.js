// @ts-check
/**
 * Sign-in with a link, whose secret is in the fragment of the address. A person confirms it, so that neither a page that
 * links here nor a program that looks at links signs anyone in.
 *
 * @typedef {import("./main.js").Route} Route
 * @typedef {import("./api.js").Client} Client
 */

import { Problem, client, send, setSession } from "./api.js";
import { announce, append, button, element, fill, icon } from "./elements.js";
import { forget } from "./history.js";

/**
 * @param {HTMLElement} place
 * @param {Route} route
 */
export async function show(place, route) {
  const [, name, secret] = route.parts;
  history.replaceState(null, "", "#/sign-in"); // the secret stays neither in the address bar nor in the history
  if (!name || !secret) {
    throw new Problem(401, "open a link from: toolc token link");
  }
  const confirm = button(`Sign in as ${name}`, signIn, { class: "primary" });
  const problem = element("p", { class: "problem", role: "alert" });
  append(place, element("section", { class: "notice" },
    element("h1", null, "Sign in"),
    element("p", null, "Someone with access to this server made this link. If you did not expect it, close this page."),
    element("p", null, confirm),
    problem,
  ));
  confirm.focus();

  async function signIn() {
    confirm.disabled = true;
    try {
      const response = await send("POST", ["session"], { headers: { "Toolc-Link": secret } });
      const session = await response.json();
      if (session.client !== name) {
        throw new Error(`this link is not for ${name}; create a new one: toolc token link`);
      }
      setSession(session.key);
    } catch (error) {
      fill(problem, error instanceof Error ? error.message : String(error));
      return;
    }
    await showClient();
    location.hash = "#/";
  }
}

/** Show who makes the calls of this page, and return it. Null without an answer: one must sign in. */
export async function showClient() {
  const place = /** @type {HTMLElement} */ (document.getElementById("client"));
  place.replaceChildren();
  const found = await client();
  if (found) {
    append(place, icon("person"), ` ${found.client}${found.role === "reviewer" ? ", reviewer" : ""} `);
    append(place, found.is_session && button("Sign out", signOut, { class: "quiet" }));
  }
  dispatchEvent(new CustomEvent("toolc-client", { detail: found }));
  return found;
}

async function signOut() {
  await send("DELETE", ["session"]).catch(() => null);
  setSession(null);
  forget();
  announce("Signed out");
  await showClient();
  location.hash = "#/";
  dispatchEvent(new HashChangeEvent("hashchange"));
}
