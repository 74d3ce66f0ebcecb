// @ts-check
/**
 * Elements made from text. Nothing here, or in any other module, parses markup, so whatever a tool or a model wrote is
 * shown as it is.
 *
 * @typedef {Node | string | number | null | false | undefined} Child
 * @typedef {Record<string, string | number | boolean | null | undefined>} Attributes
 */

const SVG = "http://www.w3.org/2000/svg";

/** The shapes of icons, in a square of 16: the `d` of one path each. */
const SHAPES = {
  alert: "M8 2 1.5 13.5h13zM8 6.5v3.5M8 12v.01",
  check: "M3 8.5 6.5 12 13 4.5",
  clock: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5v3l2 2",
  copy: "M6 6h7v7H6zM3 10V3h7",
  cross: "M4 4l8 8M12 4l-8 8",
  deny: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM4 4l8 8",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  key: "M10.5 2.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8.3 7.7 3 13M5 11l1.5 1.5",
  lock: "M4 7.5h8V14H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  network: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM2 8h12M8 2c-4 4-4 8 0 12M8 2c4 4 4 8 0 12",
  package: "M8 1.8 13.5 5v6L8 14.2 2.5 11V5zM2.5 5 8 8l5.5-3M8 8v6",
  person: "M8 2.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5zM3 14c0-3 2-4.5 5-4.5s5 1.5 5 4.5",
  play: "M5 3l8 5-8 5z",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5 14 14",
  tools: "M3 4h4v4H3zM9 8h4v4H9zM7 6h2.5v2",
  write: "M3 13l1-3.5L11 2.5 13.5 5 6.5 12z",
};

/** @typedef {keyof typeof SHAPES} IconName */

/**
 * Return an element with these attributes and children. Text is always a text node. `true` sets an empty attribute,
 * and false, null and undefined set none.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes | null} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(made, ...children);
  return made;
}

/**
 * Return a text with the characters that a reader would not see, such as those that reverse the direction, by number.
 *
 * @param {string} text
 */
export function visible(text) {
  const hidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
  return text.replace(hidden, (each) => `‹U+${/** @type {number} */ (each.codePointAt(0)).toString(16).toUpperCase().padStart(4, "0")}›`);
}

/**
 * Append children to an element. Null, false and undefined are left out.
 *
 * @param {Element} parent
 * @param {...(Child | Child[])} children
 */
export function append(parent, ...children) {
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) {
      parent.append(child instanceof Node ? child : visible(String(child)));
    }
  }
}

/**
 * Replace the children of an element.
 *
 * @param {Element} parent
 * @param {...(Child | Child[])} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, ...children);
}

/**
 * Return a button that does something.
 *
 * @param {Child | Child[]} label
 * @param {(event: MouseEvent) => void} action
 * @param {Attributes} [attributes]
 */
export function button(label, action, attributes) {
  const made = element("button", { type: "button", ...attributes }, ...[label].flat());
  made.addEventListener("click", action);
  return made;
}

/**
 * Return a link to a place in this page, such as `link(["tools", name], name)`.
 *
 * @param {string[]} parts
 * @param {Child | Child[]} label
 * @param {Attributes} [attributes]
 */
export function link(parts, label, attributes) {
  return element("a", { href: address(parts), ...attributes }, ...[label].flat());
}

/**
 * Return the address of a place in this page.
 *
 * @param {string[]} parts
 * @param {Record<string, string>} [query]
 */
export function address(parts, query = {}) {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value)).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`;
}

/**
 * Return an icon. With a label, it is an image that screen readers name; otherwise they skip it.
 *
 * @param {IconName} name
 * @param {string} [label]
 */
export function icon(name, label) {
  const made = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  made.setAttribute("viewBox", "0 0 16 16");
  made.setAttribute("class", "icon");
  if (label) {
    made.setAttribute("role", "img");
    made.setAttribute("aria-label", label);
  } else {
    made.setAttribute("aria-hidden", "true");
  }
  path.setAttribute("d", SHAPES[name]);
  made.append(path);
  return made;
}

/**
 * Return a short marked text, such as the state of a tool. `tone` is plain, good, warning, bad or info.
 *
 * @param {string} text
 * @param {string} [tone]
 * @param {IconName} [shape]
 */
export function badge(text, tone = "plain", shape) {
  return element("span", { class: `badge ${tone}` }, shape ? icon(shape) : null, text);
}

/**
 * Return preformatted text that a keyboard can scroll, with a name for screen readers.
 *
 * @param {string} text
 * @param {string} label
 */
export function code(text, label) {
  return element("pre", { tabindex: 0, role: "region", "aria-label": label }, element("code", null, text));
}

/**
 * Return a value as indented JSON.
 *
 * @param {unknown} value
 * @param {string} label
 */
export function json(value, label) {
  return code(JSON.stringify(value, null, 2) ?? "", label);
}

/**
 * Return a button that copies a text.
 *
 * @param {() => string} text
 * @param {string} label
 */
export function copyButton(text, label) {
  return button([icon("copy"), label], async () => {
    try {
      await navigator.clipboard.writeText(text());
      announce("Copied");
    } catch {
      announce("The browser does not allow copying. Select the text instead.");
    }
  }, { class: "quiet" });
}

/**
 * Say something to screen readers, and show it for a moment.
 *
 * @param {string} text
 */
export function announce(text) {
  const status = document.getElementById("status");
  if (status) {
    fill(status, text);
    setTimeout(() => status.textContent === visible(text) && status.replaceChildren(), 4000);
  }
}

/**
 * Return a message in place of content that is missing or failed.
 *
 * @param {string} title
 * @param {...(Child | Child[])} details
 */
export function notice(title, ...details) {
  return element("section", { class: "notice" }, element("h2", null, title), element("p", null, ...details));
}
