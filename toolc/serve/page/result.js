// @ts-check
/**
 * The result of a call: text, images, sounds, files, data, the time of each stage, and what else is known. Everything in
 * it was written by a tool.
 */

import { append, badge, button, code, copyButton, element, json, visible } from "./elements.js";

/** Images that a browser shows without running or loading anything else. */
const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const SOUNDS = ["audio/mpeg", "audio/ogg", "audio/wav", "audio/x-wav", "audio/webm", "audio/mp4", "audio/flac"];

/** The longest text that is shown at once. All of it can be copied and saved. */
const MAX_SHOWN = 200_000;

/**
 * Return the result as elements.
 *
 * @param {any} result
 * @param {string} tool
 */
export function resultOf(result, tool) {
  const made = element("section", { class: "result", "aria-label": "Result" });
  const { error, details = {}, content = [] } = result;
  append(made, element("p", { class: "outcome" },
    error ? badge(error.kind, "bad", "cross") : badge("success", "good", "check"),
    details.duration_ms !== undefined && ` ${milliseconds(details.duration_ms)} in the sandbox`,
    details.engine && ` on ${details.engine}`,
    details.truncated && badge("cut", "warning"),
  ));
  content.forEach((/** @type {any} */ block, /** @type {number} */ index) => append(made, blockOf(block, `${tool}-${index + 1}`)));
  if (content.length === 0 && result.structured === undefined) {
    append(made, element("p", { class: "hint" }, "The result is empty."));
  }
  if (result.structured !== undefined) {
    append(made, element("h2", null, "Data"), json(result.structured, "Data"));
  }
  append(made, details.stderr && [element("h2", null, "stderr"), ...textOf(details.stderr, "stderr")], stagesOf(details.timing_ms));
  append(made, element("details", null, element("summary", null, "All details"), json(details, "All details")));
  return made;
}

/**
 * @param {any} block
 * @param {string} name
 */
function blockOf(block, name) {
  if (block.type === "text") {
    return element("div", { class: "block" }, textOf(block.text, "Text"), copyButton(() => block.text, "Copy"));
  }
  const bytes = bytesOf(block.data);
  const about = element("figcaption", null, `${block.mime_type}, ${bytes.length.toLocaleString("en")} bytes `, saveButton(bytes, block.name ?? name, block.mime_type));
  if (block.type === "image" && IMAGES.includes(block.mime_type)) {
    return element("figure", null, element("img", { src: addressOf(bytes, block.mime_type), alt: `Image in the result: ${name}` }), about);
  }
  if (block.type === "audio" && SOUNDS.includes(block.mime_type)) {
    return element("figure", null, element("audio", { controls: true, src: addressOf(bytes, block.mime_type) }), about);
  }
  return element("figure", null, element("strong", null, block.name ?? name), about);
}

/**
 * @param {string} text
 * @param {string} label
 */
function textOf(text, label) {
  const rest = text.length - MAX_SHOWN;
  return [
    code(text.slice(0, MAX_SHOWN), label),
    rest > 0 && element("p", { class: "hint" }, `${rest.toLocaleString("en")} more characters are not shown.`),
  ].filter((each) => each instanceof HTMLElement);
}

/** @param {string} text base64 @returns {Uint8Array<ArrayBuffer>} */
function bytesOf(text) {
  return Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string} type
 */
function addressOf(bytes, type) {
  return URL.createObjectURL(new Blob([bytes], { type }));
}

/** Extensions of files without a name, by their type. */
const EXTENSIONS = new Map([["image/png", ".png"], ["image/jpeg", ".jpg"], ["image/gif", ".gif"], ["image/webp", ".webp"]]);

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string} name
 * @param {string} type
 */
function saveButton(bytes, name, type) {
  return button("Save", () => {
    // This type is never shown, whatever the file contains: a page from a tool would have the rights of this page.
    const address = addressOf(bytes, "application/octet-stream");
    const file = name.includes(".") ? name : name + (EXTENSIONS.get(type) ?? "");
    element("a", { href: address, download: visible(file).replaceAll(/[/\\\u0000-\u001f]/g, "_") }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }, { class: "quiet" });
}

/** @param {Record<string, number> | undefined} stages */
function stagesOf(stages) {
  if (!stages) {
    return null;
  }
  const total = Object.values(stages).reduce((sum, each) => sum + each, 0) || 1;
  const rows = Object.entries(stages).map(([stage, each]) => element("tr", null,
    element("th", { scope: "row" }, stage),
    element("td", null, milliseconds(each)),
    element("td", null, element("meter", { min: 0, max: total, value: each, "aria-label": `share of ${stage}` })),
  ));
  const head = element("tr", null, ["Stage", "Time", "Share"].map((each) => element("th", { scope: "col" }, each)));
  return element("details", null,
    element("summary", null, `Time of each stage: ${milliseconds(total)}`),
    element("table", { class: "stages" }, element("thead", null, head), element("tbody", null, rows)),
  );
}

/** @param {number} value */
export function milliseconds(value) {
  return value < 1000 ? `${value.toFixed(value < 10 ? 1 : 0)} ms` : `${(value / 1000).toFixed(2)} s`;
}
