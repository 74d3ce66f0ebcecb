// @ts-check
// Run the form over schemas and values, and the texts of requests over arguments. The results replace the document.

import { Form, located } from "./form.js";
import { commandLine, curlRequest, pythonProgram, specTest } from "./requests.js";

const { schemas, requests, problems, conditions, alike, entries } = JSON.parse(document.getElementById("cases").textContent);
const place = document.getElementById("place");

/** Keys of objects may change their order. */
const sorted = (value) => JSON.stringify(value, (_, each) => (
  each && typeof each === "object" && !Array.isArray(each) ? Object.fromEntries(Object.entries(each).sort()) : each));

function openAll(form) {
  for (let depth = 0; depth < 2; depth += 1) {
    const optional = [...form.element.querySelectorAll(".optional > label > input:not(:checked)")];
    const more = [...form.element.querySelectorAll(".group > button, .group > div > button")];
    [...optional, ...more].slice(0, 60).forEach((each) => each.click());
  }
  for (const each of [...form.element.querySelectorAll("select")].slice(0, 30)) {
    each.selectedIndex = each.options.length - 1;
    each.dispatchEvent(new Event("change"));
  }
}

function checked({ name, schema, values }) {
  const form = new Form(schema);
  place.replaceChildren(form.element);
  JSON.parse(form.text());
  openAll(form);
  JSON.parse(form.text());
  const controls = [...place.querySelectorAll("input, select, textarea")];
  const unnamed = controls.filter((each) => !each.labels?.length && !each.getAttribute("aria-label"));
  const same = [...place.querySelectorAll("select")].filter(({ options }) => (
    new Set([...options].map((each) => each.textContent)).size < options.length));
  const active = [...place.querySelectorAll("script, img, iframe, object, style, link, a[href^='javascript']")];
  const changed = values.map((value) => {
    form.write(value);
    return [sorted(value), sorted(JSON.parse(form.text()))];
  }).filter(([before, after]) => before !== after);
  return { name, same: same.length, unnamed: unnamed.length, active: active.length, changed, fields: controls.length };
}

function safely(action, each) {
  try {
    return action(each);
  } catch (error) {
    return { name: each.name, error: String(error.stack) };
  }
}

function texts({ tool, args, result, source }) {
  const call = { tool, args, needsToken: true, source, hasWorkspace: true };
  return { curl: curlRequest(call), run: commandLine(call), python: pythonProgram(call), test: specTest(args, result) };
}

function shownProblems({ schema, value, message }) {
  const form = new Form(schema, value);
  place.replaceChildren(form.element);
  form.showProblems(message);
  return [...place.querySelectorAll(".problem > span")].map((each) => {
    const owner = each.closest(".field, .group, .optional");
    return [owner.querySelector("label, legend").textContent, each.textContent];
  });
}

/** Choose each option of the first select, and return the names of the fields that are then shown. */
function shownFields(schema) {
  const form = new Form(schema);
  place.replaceChildren(form.element);
  const select = place.querySelector("select");
  return [...select.options].map((option) => {
    select.value = option.value;
    select.dispatchEvent(new Event("input"));
    const names = [...place.querySelectorAll(".fields > * > label, .fields > * > legend")].map((each) => each.textContent);
    return [option.textContent, select.isConnected, names];
  });
}

/** Set the only argument, type a text into its field, and return the arguments. */
function typed({ schema, text }) {
  const form = new Form(schema);
  place.replaceChildren(form.element);
  place.querySelector(".optional > label > input")?.click();
  const control = place.querySelector("input:not([type=checkbox]), textarea");
  control.value = text;
  control.dispatchEvent(new Event("input"));
  return form.read();
}

const results = {
  conditions: conditions.map(shownFields),
  alike: shownFields(alike),
  typed: entries.map((each) => safely(typed, each)),
  schemas: schemas.map((each) => safely(checked, each)),
  texts: requests.map((each) => safely(texts, each)),
  problems: problems.map((each) => safely(shownProblems, each)),
  isHacked: "hacked" in window,
  unknown: located({ element: place, read: () => 0, showProblem: () => {}, children: () => [] }, "a: b"),
};
const shown = document.createElement("pre");
shown.id = "results";
shown.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(results))));
document.body.replaceChildren(shown);
