// @ts-check
/**
 * Requests to `/api/v1`. In the file of `toolc catalog`, the answers are in the file itself.
 */

/** A request that the server refused, or that did not reach it. A status of 0 means that there was no answer. */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {string} detail
   */
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

const STORED = document.getElementById("stored");

/** Whether this page is the file of `toolc catalog`, which can call nothing. */
export const isFile = STORED !== null;

/** The answers in the file of `toolc catalog` by path. @type {Promise<Record<string, any>> | null} */
const answers = STORED && unpacked(STORED.textContent ?? "");

/** @param {string} text compressed JSON as Base64 */
function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

/** Where this page keeps the secret of its session. Pages of other origins cannot read it. */
const SESSION = `toolc session ${location.pathname}`;

/**
 * Who makes the calls of this page.
 *
 * @typedef {{ client: string, role: "caller" | "reviewer", is_session: boolean }} Client
 */

/**
 * Keep the secret of a session, or forget it.
 *
 * @param {string | null} key
 */
export function setSession(key) {
  if (key === null) {
    localStorage.removeItem(SESSION);
  } else {
    localStorage.setItem(SESSION, key);
  }
}

/** Return who makes the calls of this page, or null if one must sign in. @returns {Promise<Client | null>} */
export async function client() {
  if (isFile) {
    return null;
  }
  const answer = () => get(["session"]).catch(() => null);
  // The first request forgets a session that has ended. Without it, the server may accept requests of this machine.
  return (await answer()) ?? answer();
}

/**
 * Return the address of a resource of the API, such as `apiAddress("tools", name)`.
 *
 * @param {...string} parts
 */
export function apiAddress(...parts) {
  return new URL(`api/v1/${parts.map(encodeURIComponent).join("/")}`, document.baseURI).href;
}

/**
 * Return the JSON of a resource.
 *
 * @param {string[]} parts
 * @param {AbortSignal} [signal]
 * @param {Record<string, string>} [query]
 * @returns {Promise<any>}
 */
export async function get(parts, signal, query) {
  if (answers) {
    const path = [parts.join("/"), ...Object.values(query ?? {})].join("?");
    const found = await answers;
    if (!Object.hasOwn(found, path)) {
      throw new Problem(404, "this file has no such entry");
    }
    return found[path];
  }
  const response = await send("GET", parts, { signal, query });
  return response.json();
}

/**
 * Send a request. The response may be that of a failed call (status 422), which has a result.
 *
 * @param {string} method
 * @param {string[]} parts
 * @param {{ body?: unknown, headers?: Record<string, string>, signal?: AbortSignal, query?: Record<string, string> }} [options]
 * @returns {Promise<Response>}
 */
export async function send(method, parts, { body, headers = {}, signal, query } = {}) {
  /** @type {Record<string, string>} */
  const all = { ...headers };
  const key = "Toolc-Link" in headers ? null : localStorage.getItem(SESSION);
  if (key) {
    all["Toolc-Session"] = key;
  }
  if (body !== undefined && !(body instanceof Blob)) {
    all["Content-Type"] = "application/json";
  }
  const content = body === undefined || body instanceof Blob ? body : JSON.stringify(body);
  const search = query ? `?${new URLSearchParams(query)}` : "";
  const request = { method, headers: all, body: content, signal, credentials: /** @type {const} */ ("same-origin") };
  const response = await fetch(apiAddress(...parts) + search, request).catch((error) => {
    throw error.name === "AbortError" ? error : new Problem(0, "the server does not answer; it may have stopped");
  });
  if (response.status === 401 && key) {
    setSession(null); // the session has ended; without it, the server may accept requests of this machine
  }
  if (!response.ok && response.status !== 422) {
    throw new Problem(response.status, await detail(response));
  }
  return response;
}

/** @param {Response} response */
async function detail(response) {
  const text = await response.text();
  try {
    return String(JSON.parse(text).detail ?? text);
  } catch {
    return text.slice(0, 500) || response.statusText;
  }
}
