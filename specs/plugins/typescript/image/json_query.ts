// json_query finds values in JSON for an agent: one JSON object a line comes on stdin, one goes back on stdout.
import { createInterface } from "node:readline";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type JsonObject = { [name: string]: Json };

interface Answer {
  content: { type: "text"; text: string }[];
  error: boolean;
}

const DEFINITION: JsonObject = {
  name: "json_query",
  description:
    "Take one value out of a JSON text by a path of names and positions with dots between them. Use it instead of " +
    "reading a long JSON text yourself. It does not search: the path must be known.",
  parameters: {
    type: "object",
    properties: {
      json: { type: "string", minLength: 1, maxLength: 1000000, description: "The JSON text, e.g. '{\"users\": [{\"name\": \"Ada\"}]}'" },
      path: { type: "string", maxLength: 1000, description: "The path, e.g. 'users.0.name'; an empty one is the whole" },
    },
    required: ["json", "path"],
  },
};

const STRING_OR_NUMBER = /"(?:[^"\\]+|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MARKED = /"([sn])((?:[^"\\]+|\\.)*)"/g;

// JavaScript's numbers would alter what has more digits than a double: numbers become strings that begin with 'n', as
// they are written, and strings and names begin with 's'.
function marked(json: string): string {
  return json.replace(STRING_OR_NUMBER, (found) => (found.startsWith('"') ? `"s${found.slice(1)}` : `"n${found}"`));
}

function written(value: Json): string {
  return JSON.stringify(value).replace(MARKED, (_, kind: string, text: string) => (kind === "n" ? text : `"${text}"`));
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function step(value: Json, name: string, taken: string): Json {
  const where = taken === "" ? "the whole" : `'${taken}'`;
  if (Array.isArray(value)) {
    const found = /^\d+$/.test(name) ? value[Number(name)] : undefined;
    if (found === undefined) throw new Error(`${where} is a list of ${value.length} items, and has no '${name}'`);
    return found;
  }
  if (isObject(value)) {
    const found = Object.hasOwn(value, `s${name}`) ? value[`s${name}`] : undefined;
    if (found === undefined) {
      const names = Object.keys(value).slice(0, 20).map((each) => each.slice(1)).join(", ");
      throw new Error(`${where} has no '${name}'; there is: ${names || "nothing"}`);
    }
    return found;
  }
  throw new Error(`${where} is ${written(value).slice(0, 80)}, which has no parts`);
}

function query(text: string, path: string): Json {
  let value: Json;
  try {
    JSON.parse(text);
    value = JSON.parse(marked(text));
  } catch (error) {
    throw new Error(`'json' is not JSON: ${(error as Error).message}`);
  }
  let taken = "";
  for (const name of path === "" ? [] : path.split(".")) {
    value = step(value, name, taken);
    taken = taken === "" ? name : `${taken}.${name}`;
  }
  return value;
}

function call(params: Json | undefined): string {
  if (!isObject(params) || typeof params.json !== "string" || typeof params.path !== "string") {
    throw new Error("'json' and 'path' are both needed, and strings");
  }
  return written(query(params.json, params.path));
}

function answer(line: string): Answer | JsonObject {
  try {
    const request: Json = JSON.parse(line);
    if (!isObject(request)) throw new Error("this line is no request: it is no JSON object");
    if (request.type === "describe") return DEFINITION;
    if (request.type !== "call") throw new Error(`there is no request of type ${JSON.stringify(request.type ?? null)}`);
    console.error(`call ${request.call_id}`);
    return { content: [{ type: "text", text: call(request.params) }], error: false };
  } catch (error) {
    return { content: [{ type: "text", text: `Error: ${(error as Error).message}` }], error: true };
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  if (line.trim() !== "") process.stdout.write(JSON.stringify(answer(line)) + "\n");
});
