// @ts-check
/**
 * A call as text to copy: for `curl`, `toolc run` and Python, and as a test of the spec.
 */

import { apiAddress } from "./api.js";

/**
 * `source` is what the server serves, null for built-in tools.
 *
 * @typedef {{ tool: string, args: unknown, needsToken: boolean, source: string | null, hasWorkspace: boolean }} Call
 */

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** @param {Call} call */
export function curlRequest({ tool, args, needsToken }) {
  return [
    `curl -s ${quoted(apiAddress("tools", tool))}`,
    ...(needsToken ? ['-H "Authorization: Bearer $TOOLC_TOKEN"'] : []),
    "-H 'Content-Type: application/json'",
    `-d ${quoted(JSON.stringify(args))}`,
  ].join(" \\\n  ");
}

/** @param {Call} call */
export function commandLine({ tool, args, source }) {
  const target = source === null ? `--builtin all ${tool}` : quoted(`${source}#${tool}`);
  return `toolc run ${target} \\\n  --args ${quoted(JSON.stringify(args))}`;
}

/** @param {Call} call */
export function pythonProgram({ tool, args, source, hasWorkspace }) {
  const registry = source === null ? "Registry.builtin()" : `Registry.load(${pythonLiteral(source)})`;
  return [
    "from toolc import Executor, Registry",
    "",
    `with Executor(${registry}${hasWorkspace ? ', workspace="."' : ""}) as executor:`,
    `    result = executor.run(${pythonLiteral(tool)}, ${pythonLiteral(args)})`,
    "print(result.text)",
    "",
  ].join("\n");
}

/**
 * @param {unknown} value a JSON value
 * @returns {string}
 */
export function pythonLiteral(value) {
  if (Array.isArray(value)) {
    return `[${value.map(pythonLiteral).join(", ")}]`;
  }
  if (typeof value === "object" && value !== null) {
    return `{${Object.entries(value).map(([key, each]) => `${pythonLiteral(key)}: ${pythonLiteral(each)}`).join(", ")}}`;
  }
  const names = new Map(/** @type {[unknown, string][]} */ ([[null, "None"], [true, "True"], [false, "False"]]));
  return names.get(value) ?? JSON.stringify(value);
}

/**
 * Return a test of the spec that expects the result of a call.
 *
 * @param {unknown} args
 * @param {any} result
 */
export function specTest(args, result) {
  const text = result.content.filter((/** @type {any} */ each) => each.type === "text").map((/** @type {any} */ each) => each.text);
  const expected = result.error ? { error: result.error.kind }
    : "structured" in result ? { structured: result.structured } : { text: text.join("\n") };
  return `tests:\n  - args: ${yamlFlow(args)}\n    expect: ${yamlFlow(expected)}\n`;
}

/**
 * JSON is YAML, except for some characters that YAML refuses in a text.
 *
 * @param {unknown} value
 */
function yamlFlow(value) {
  const escape = (/** @type {string} */ each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g, escape);
}
