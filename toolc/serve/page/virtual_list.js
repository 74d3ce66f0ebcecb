// @ts-check
/**
 * A list of which only the visible rows are in the document. All rows have the height of the CSS variable `--row`.
 *
 * The arrow keys, Home and End move between the links of rows, also of those that are not visible.
 */

import { element } from "./elements.js";

/** How many rows are ready above and below the visible ones. */
const SPARE = 8;

/**
 * @template Item
 */
export class VirtualList {
  /**
   * @param {string} label
   * @param {(item: Item) => HTMLElement} render returns the content of a row, with one link that has the class "row-link"
   * @param {AbortSignal} signal ends the list
   */
  constructor(label, render, signal) {
    this.element = element("div", { class: "rows", role: "list", "aria-label": label });
    this.render = render;
    /** @type {Item[]} */
    this.items = [];
    /** @type {Map<number, HTMLElement>} */
    this.shown = new Map();
    this.isScheduled = false;
    addEventListener("scroll", () => this.schedule(), { signal, passive: true });
    addEventListener("resize", () => this.schedule(), { signal });
    this.element.addEventListener("keydown", (event) => this.move(event));
  }

  /** @param {Item[]} items */
  show(items) {
    this.items = items;
    this.element.replaceChildren();
    this.shown.clear();
    this.draw();
  }

  schedule() {
    if (!this.isScheduled) {
      this.isScheduled = true;
      requestAnimationFrame(() => {
        this.isScheduled = false;
        this.draw();
      });
    }
  }

  /** Put the visible rows into the document. The row with the focus stays. */
  draw() {
    const height = this.rowHeight();
    this.element.style.height = `${this.items.length * height}px`;
    const top = -this.element.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / height) - SPARE);
    const last = Math.min(this.items.length, Math.ceil((top + innerHeight) / height) + SPARE);
    for (const [index, row] of this.shown) {
      if ((index < first || index >= last) && !row.contains(document.activeElement)) {
        row.remove();
        this.shown.delete(index);
      }
    }
    for (let index = first; index < last; index++) {
      this.add(index);
    }
    for (const [index, row] of this.shown) {
      row.style.transform = `translateY(${index * height}px)`;
    }
  }

  /** @param {number} index */
  add(index) {
    let row = this.shown.get(index);
    if (!row) {
      const place = { class: "row", role: "listitem", "aria-setsize": this.items.length, "aria-posinset": index + 1 };
      row = element("div", place, this.render(this.items[index]));
      row.style.transform = `translateY(${index * this.rowHeight()}px)`;
      // In the order of the items, which is the order of the Tab key.
      const next = [...this.shown.keys()].filter((each) => each > index).sort((a, b) => a - b)[0];
      this.element.insertBefore(row, this.shown.get(next) ?? null);
      this.shown.set(index, row);
    }
    return row;
  }

  /** @param {KeyboardEvent} event */
  move(event) {
    const row = /** @type {Element} */ (event.target).closest(".row");
    const index = [...this.shown].find(([, each]) => each === row)?.[0];
    const steps = new Map([["ArrowDown", 1], ["ArrowUp", -1], ["Home", -Infinity], ["End", Infinity]]);
    const step = steps.get(event.key);
    if (index === undefined || step === undefined) {
      return;
    }
    event.preventDefault();
    const next = this.add(Math.min(this.items.length - 1, Math.max(0, index + step)));
    next.scrollIntoView({ block: "nearest" });
    /** @type {HTMLElement | null} */ (next.querySelector(".row-link"))?.focus({ preventScroll: true });
  }

  rowHeight() {
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    return parseFloat(getComputedStyle(this.element).getPropertyValue("--row")) * rem;
  }
}
