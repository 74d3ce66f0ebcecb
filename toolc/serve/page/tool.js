// @ts-check
/** One tool: its description, parameters, results and examples. */

import { get } from "./api.js";
import { element, json, link } from "./elements.js";

/**
 * @param {HTMLElement} place
 * @param {import("./main.js").Route} route
 */
export async function show(place, route) {
  const tool = await get(["tools", route.parts[1] ?? ""], route.signal);
  place.append(
    element("nav", { class: "trail", "aria-label": "Path" }, link([], "Catalog")),
    element("h1", null, tool.name),
    element("p", { class: "description" }, tool.description),
    element("h2", null, "Parameters"),
    json(tool.parameters, "Parameters as JSON Schema"),
    tool.result ? element("h2", null, "Result") : "",
    tool.result ? json(tool.result, "Result as JSON Schema") : "",
  );
}
