"""Write a typed client as a TypeScript module without imports. It calls through a function or an MCP client."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from toolc.client.typed.types import (
    Definition,
    Field,
    ListOf,
    Literals,
    MapOf,
    Named,
    Primitive,
    Record,
    TupleOf,
    Type,
    TypedTool,
    Union,
)
from toolc.model.registry_io import canonical
from toolc.model.text import lazy_re

IMPORTED: Final = frozenset(
    {
        "Array", "CallTool", "ContentBlock", "Error", "McpClient", "Promise", "REGISTRY", "ReadonlySet", "Set",
        "ToolCallError", "ToolResult", "Tools", "WRAPPED", "compare", "createTools", "defaultWarning", "mcpTools",
    }
)  # fmt: skip
"""The names that every module has in addition to its own types, and the global types that it uses."""

_KINDS: Final = {
    "any": "unknown", "never": "never", "null": "null", "boolean": "boolean", "integer": "number",
    "number": "number", "string": "string",
}  # fmt: skip
_IDENTIFIER: Final = lazy_re(r"[A-Za-z_$][A-Za-z0-9_$]*")


def module(digest: str, tools: Sequence[TypedTool], definitions: Sequence[Definition]) -> str:
    """Return the text of a module without its first line."""
    wrapped = ", ".join(json.dumps(tool.name) for tool in tools if tool.is_wrapped)
    parts = [
        _HEADER,
        f"export const REGISTRY = {json.dumps(digest)};",
        "",
        "/** Tools whose data MCP wraps, because it need not be an object. */",
        f"const WRAPPED: ReadonlySet<string> = new Set<string>([{wrapped}]);",
        *(line for each in definitions for line in ("", *_definition(each))),
        *(line for each in tools for line in ("", *_type(each.arguments))),
        "",
        "/** The tools, each a function of its arguments. */",
        "export interface Tools {",
        *(line for each in tools for line in _method(each)),
        "}",
        "",
        "/** Return the tools, called through a function. */",
        "export function createTools(call: CallTool): Tools {",
        "  return {",
        *(line for each in tools for line in _implementation(each)),
        "  };",
        "}",
        "",
        _MCP,
    ]
    return "\n".join(parts)


def type_text(kind: Type) -> str:
    """Return a type in TypeScript."""
    match kind:
        case Primitive():
            return _KINDS[kind.kind]
        case Literals():
            return " | ".join(map(json.dumps, kind.values))
        case ListOf():
            return f"Array<{type_text(kind.item)}>"
        case TupleOf():
            items = [f"{_grouped(each)}{'?' if at >= kind.required else ''}" for at, each in enumerate(kind.items)]
            rest = [f"...Array<{type_text(kind.rest)}>"] if kind.rest else []
            return f"[{', '.join([*items, *rest])}]"
        case MapOf():
            return f"{{ [key: string]: {type_text(kind.value)} }}"
        case Union():
            return " | ".join(map(type_text, kind.options))
        case Named():
            return kind.name


def comment(text: str, indent: str) -> list[str]:
    """Return the lines of a JSDoc comment for any text. Invisible characters are escaped."""
    escaped = re.sub(
        r"[^\n -~]", lambda match: match[0] if match[0].isprintable() else json.dumps(match[0])[1:-1], text
    )
    first, *others = escaped.replace("*/", "*\\/").split("\n")
    if not others:
        return [f"{indent}/** {first} */"]
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in (first, *others)), f"{indent} */"]


def _grouped(kind: Type) -> str:
    text = type_text(kind)
    return f"({text})" if " | " in text else text


def _definition(definition: Definition) -> Iterator[str]:
    if isinstance(definition, Record):
        yield from _type(definition)
        return
    if definition.description:
        yield from comment(definition.description, "")
    yield f"export type {definition.name} = {type_text(definition.type)};"


def _type(record: Record) -> Iterator[str]:
    if record.description:
        yield from comment(record.description, "")
    if not record.fields and not record.is_open:
        yield f"export type {record.name} = {{ [key: string]: never }};"
        return
    yield f"export type {record.name} = {{"
    for each in record.fields:
        if text := _about(each):
            yield from comment(text, "  ")
        yield f"  {_key(each.name)}{'' if each.required else '?'}: {type_text(each.type)};"
    if record.is_open:
        yield "  [key: string]: unknown;"
    yield "};"


def _about(field: Field) -> str:
    default = f"@default {canonical(field.default[0]).decode()}" if field.default else ""
    return "\n".join(text for text in (field.description, default) if text)


def _key(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else json.dumps(name)


def _method(tool: TypedTool) -> Iterator[str]:
    yield from comment(tool.description, "  ")
    # A property instead of a method, because a method named "constructor" or "new" has another meaning.
    yield f"  {json.dumps(tool.name)}: ({_parameter(tool)}) => Promise<{_returned(tool)}>;"


def _implementation(tool: TypedTool) -> Iterator[str]:
    name, body = json.dumps(tool.name), f"call({json.dumps(tool.name)}, {{ ...args }})"
    data = "" if tool.result is None else f".then((result) => result.structured as {_returned(tool)})"
    # A computed key, because "__proto__" would set the prototype.
    yield f"    [{name}]: ({_parameter(tool)}) => {body}{data},"


def _parameter(tool: TypedTool) -> str:
    is_optional = not any(each.required for each in tool.arguments.fields)
    return f"args{'?' if is_optional else ''}: {tool.arguments.name}"


def _returned(tool: TypedTool) -> str:
    return "ToolResult" if tool.result is None else type_text(tool.result)


_HEADER: Final = """\
/**
 * A typed client of tools. Do not edit it; `toolc build --client` writes it again.
 *
 * `mcpTools(client)` calls the tools of `toolc serve` with a client of the MCP SDK, and `createTools(call)` with any
 * function.
 *
 * @module
 */

/** A part of a result. Binary data is in base64. */
export type ContentBlock = { type: string; text?: string; data?: string; [key: string]: unknown };

/** The result of a call. `structured` is its data. */
export type ToolResult = { content: Array<ContentBlock>; structured?: unknown };

/** Calls a tool and returns its result; rejects with `ToolCallError` if the tool failed. */
export type CallTool = (name: string, args: { [key: string]: unknown }) => Promise<ToolResult>;

/** A call that returned an error; `content` is what the tool said. */
export class ToolCallError extends Error {
  readonly tool: string;
  readonly content: Array<ContentBlock>;

  constructor(tool: string, content: Array<ContentBlock>) {
    const text = content.map((block) => block.text ?? "").join("\\n");
    super(`${tool}: ${text}`);
    this.name = "ToolCallError";
    this.tool = tool;
    this.content = content;
  }
}
"""

_MCP: Final = """\
/** The methods of `Client` of @modelcontextprotocol/sdk that are used. */
export interface McpClient {
  callTool(params: { name: string; arguments: { [key: string]: unknown } }): Promise<unknown>;
  listTools(): Promise<unknown>;
}

/**
 * Return the tools, called through an MCP client that is connected to `toolc serve`.
 *
 * If the server has another registry than this module was written for, `warn` is called once.
 */
export function mcpTools(client: McpClient, warn: (message: string) => void = defaultWarning): Tools {
  let compared: Promise<void> | undefined;
  return createTools(async (name, args) => {
    compared ??= compare(client, warn);
    await compared;
    const found = (await client.callTool({ name, arguments: args })) as {
      content?: Array<ContentBlock>;
      structuredContent?: { [key: string]: unknown };
      isError?: boolean;
    };
    const content = found.content ?? [];
    if (found.isError) {
      throw new ToolCallError(name, content);
    }
    const data = found.structuredContent;
    return data === undefined ? { content } : { content, structured: WRAPPED.has(name) ? data["result"] : data };
  });
}

async function compare(client: McpClient, warn: (message: string) => void): Promise<void> {
  const listed = (await client.listTools()) as { _meta?: { [key: string]: unknown } };
  const digest = listed._meta?.["toolc/registry"];
  if (typeof digest === "string" && digest !== REGISTRY) {
    warn(`the client was generated for the registry ${REGISTRY}, but the server has ${digest}; generate it again`);
  }
}

function defaultWarning(message: string): void {
  (globalThis as { console?: { warn(message: string): void } }).console?.warn(message);
}
"""
