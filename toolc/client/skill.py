"""Write an Agent Skill whose instructions call tools with ``toolc run``, for agents without MCP."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from typing import Final

from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import shorten

_MAX_DESCRIPTION: Final = 1024
"""The maximum length of the description of a skill, in characters."""

_EXAMPLES: Final[JsonObject] = {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}


def skill_text(name: str, tools: Sequence[ToolSpec], command: Callable[[str], str]) -> str:
    """Return the text of ``SKILL.md`` for some tools.

    ``command`` returns the shell command that calls the tool with a name.

    An agent may run only these commands without asking.
    """
    uses = " ".join(f"{tool.name}: {' '.join(tool.description.split())}" for tool in tools)
    allowed = " ".join(f"Bash({command(tool.name)}:*)" for tool in tools)
    parts = [
        "---", f"name: {name}", f"description: {json.dumps(shorten(uses, _MAX_DESCRIPTION), ensure_ascii=False)}",
        f"allowed-tools: {json.dumps(allowed, ensure_ascii=False)}", "---", f"# {name}", "",
        "Each of these tools runs in its own sandbox. Call a tool only with its line below, in the folder of the",
        "project, and replace the values of `--arg`. Values that are not strings are JSON. Leave out optional",
        "arguments that you do not need. The result is on stdout. If the exit code is 1, it says what went wrong.",
    ]  # fmt: skip
    for tool in tools:
        parts += [
            "",
            f"## {tool.name}",
            "",
            tool.description.strip(),
            "",
            "```bash",
            _line(tool, command(tool.name)),
            "```",
        ]
        properties = tool.parameters.properties
        parts += ["", *(_argument(tool, each, schema) for each, schema in properties.items())] if properties else []
    return "\n".join(parts) + "\n"


def _line(tool: ToolSpec, command: str) -> str:
    """Return a call with the arguments of the first example or, without examples, with all required arguments."""
    properties = tool.parameters.properties
    needed = [each for each in properties if each in tool.parameters.required]
    values = tool.examples[0] if tool.examples else {each: _example(properties[each]) for each in needed}
    arguments = (
        f" --arg {shlex.quote(f'{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}')}"
        for key, value in values.items()
    )
    return command + "".join(arguments)


def _example(schema: JsonObject) -> JsonValue:
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return choices[0]
    return _EXAMPLES.get(str(schema.get("type")), "...")


def _argument(tool: ToolSpec, name: str, schema: JsonObject) -> str:
    optional = "" if name in tool.parameters.required else ", optional"
    choices = schema.get("enum")
    kind = f"one of {json.dumps(choices, ensure_ascii=False)}" if choices else schema.get("type", "any value")
    description = " ".join(str(schema.get("description", "")).split())
    kinds = " or ".join(map(str, kind)) if isinstance(kind, list) else kind
    return f"- `{name}` ({kinds}{optional}){f': {description}' if description else ''}"
