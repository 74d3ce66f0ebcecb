// @ts-check
/**
 * Files that a person chooses or drops, and that go to the workspace of the client.
 */

import { Problem, send } from "./api.js";
import { append, button, element, icon } from "./elements.js";

/** The size up to which the server accepts files, in bytes. */
const MAX_SIZE = 32 * 2 ** 20;

/**
 * Return the part of the page with which files are put into the workspace.
 *
 * @param {AbortSignal} signal
 */
export function uploads(signal) {
  const folder = element("input", { type: "text", placeholder: "the top folder", autocomplete: "off", spellcheck: "false" });
  const chosen = element("input", { type: "file", multiple: true });
  const list = element("ul", { class: "uploads", "aria-live": "polite" });
  const place = element("details", { class: "upload" },
    element("summary", null, "Files for the workspace"),
    element("label", null, "Existing folder in the workspace", folder),
    element("label", null, "Files, chosen or dropped here", chosen),
    list);

  /** @param {Iterable<File>} files */
  function add(files) {
    for (const file of files) {
      const path = [...folder.value.split("/").filter(Boolean), file.name].join("/");
      const line = element("li");
      list.append(line);
      put(file, path, line, signal);
    }
  }
  chosen.addEventListener("change", () => {
    add(chosen.files ?? []);
    chosen.value = "";
  });
  place.addEventListener("dragover", (event) => {
    event.preventDefault();
    place.open = true;
    place.classList.add("target");
  });
  place.addEventListener("dragleave", () => place.classList.remove("target"));
  place.addEventListener("drop", (event) => {
    event.preventDefault();
    place.classList.remove("target");
    add(event.dataTransfer?.files ?? []);
  });
  return place;
}

/**
 * Send a file, and show the outcome in a line.
 *
 * @param {File} file
 * @param {string} path
 * @param {HTMLElement} line
 * @param {AbortSignal} signal
 * @param {Record<string, string>} [query]
 */
async function put(file, path, line, signal, query) {
  line.replaceChildren(element("span", null, `${path}: sending`));
  try {
    await requireReadable(file);
    await send("PUT", ["workspace", path], { body: file, signal, query });
    line.replaceChildren(icon("check"), element("span", null, `${path}: ${query ? "replaced" : "written"}`));
  } catch (error) {
    if (signal.aborted) {
      return;
    }
    const exists = error instanceof Problem && error.status === 412;
    const message = exists ? `${path}: already exists` : error instanceof Error ? error.message : String(error);
    line.replaceChildren(icon("alert"), element("span", null, message));
    append(line, exists && button(`Replace ${path}`, () => put(file, path, line, signal, { replace: "true" })));
  }
}

/** @param {File} file */
async function requireReadable(file) {
  if (file.size > MAX_SIZE) {
    throw new Error(`${file.name} is larger than 32 MiB; copy it into the workspace yourself`);
  }
  await file.slice(0, 1).arrayBuffer().catch(() => {
    throw new Error(`${file.name} cannot be read; choose single files, and no folders`);
  });
}
