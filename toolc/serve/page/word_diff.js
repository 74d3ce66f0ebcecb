// @ts-check
/** The difference between two texts by words. */

import { append, element } from "./elements.js";

/** The maximum number of words of each text. Longer texts are shown without marks, because comparing them takes too long. */
const MAX_WORDS = 2000;

/**
 * Return both texts, side by side, with the words marked that only one of them has.
 *
 * @param {string | null} before
 * @param {string | null} after
 */
export function sideBySide(before, after) {
  const [old, now] = marked(before ?? "", after ?? "");
  return element(
    "div",
    { class: "sides" },
    element("figure", null, element("figcaption", null, "Before"), before === null ? nothing() : old),
    element("figure", null, element("figcaption", null, "After"), after === null ? nothing() : now),
  );
}

function nothing() {
  return element("p", { class: "muted" }, "nothing");
}

/**
 * @param {string} before
 * @param {string} after
 */
function marked(before, after) {
  const [old, now] = [before, after].map((each) => each.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []);
  const [left, right] = [element("p", { class: "side", dir: "auto" }), element("p", { class: "side", dir: "auto" })];
  if (old.length > MAX_WORDS || now.length > MAX_WORDS) {
    append(left, before);
    append(right, after);
    return [left, right];
  }
  const isCommon = common(old, now);
  fill(left, old, isCommon.old, "del");
  fill(right, now, isCommon.now, "ins");
  return [left, right];
}

/**
 * Append words, with an element around each run of words that the other text does not have.
 *
 * @param {HTMLElement} place
 * @param {string[]} words
 * @param {boolean[]} isCommon
 * @param {"del" | "ins"} tag
 */
function fill(place, words, isCommon, tag) {
  for (let start = 0; start < words.length; ) {
    let end = start + 1;
    while (end < words.length && isCommon[end] === isCommon[start]) {
      end++;
    }
    const run = words.slice(start, end).join("");
    append(place, isCommon[start] ? run : element(tag, null, run));
    start = end;
  }
}

/**
 * Return which words are in a longest common subsequence of both texts.
 *
 * @param {string[]} old
 * @param {string[]} now
 */
function common(old, now) {
  const width = now.length + 1;
  const lengths = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      const next = Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
      lengths[i * width + j] = old[i] === now[j] ? lengths[(i + 1) * width + j + 1] + 1 : next;
    }
  }
  const found = { old: old.map(() => false), now: now.map(() => false) };
  for (let i = 0, j = 0; i < old.length && j < now.length; ) {
    if (old[i] === now[j]) {
      found.old[i++] = true;
      found.now[j++] = true;
    } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) {
      i++;
    } else {
      j++;
    }
  }
  return found;
}
