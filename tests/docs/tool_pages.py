"""Write the page of a built-in tool from its spec."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from project.paths import SPECS

from toolc.cli.tool_templates import TOOLS, tool_template
from toolc.compiler.pipeline.compile import compile_specs
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.permissions import Permissions, format_permissions, permissions_of
from toolc.model.spec.tool import Test, ToolSpec

FOLDER = "reference/tools"
"""The folder of the pages, below ``docs``."""

NOTE = "<!-- Written from the spec by pytest tests/docs/test_tool_pages.py --golden -->"
MAX_EXAMPLES = 3
LABELS: Mapping[str, str] = {
    "hosts": "Network", "secrets": "Secrets", "workspaces": "Workspace", "requirements": "Packages", "limits": "Limits",
}  # fmt: skip
"""The shown parts of ``Permissions``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTool:
    """A tool with the text that says where it is from, and what it is in: toolsets, or a template."""

    spec: ToolSpec
    origin: str
    toolsets: str = ""


def pages() -> dict[str, str]:
    """Return the pages of all built-in tools and templates, and the list of them, by their path in ``docs``."""
    builtin, templates = list(_builtin_tools()), [each for name in TOOLS for each in _template_tools(name)]
    texts = {f"{FOLDER}/{tool.spec.name}.md": _page(tool) for tool in (*builtin, *templates)}
    return {f"{FOLDER}/index.md": _index(builtin, templates), **texts}


def _builtin_tools() -> Iterator[DescribedTool]:
    compilation = compile_specs([SPECS])
    toolsets = compilation.registry().toolsets
    for each in sorted(compilation.located, key=lambda located: located.spec.name):
        names = [name for name in sorted(toolsets) if each.spec.name in toolsets[name]]
        yield DescribedTool(
            spec=each.spec,
            origin=f"| Spec | `specs/{each.path.rpartition('/')[2]}` |",
            toolsets=", ".join(f"`{name}`" for name in names),
        )


def _template_tools(name: str) -> Iterator[DescribedTool]:
    template = tool_template(name, "")
    with tempfile.TemporaryDirectory() as folder:
        for path, text in {**template.files, "toolc.yaml": template.project_text()}.items():
            target = Path(folder, path)
            target.parent.mkdir(exist_ok=True)
            target.write_text(text, encoding="utf-8")
        tools = compile_specs([Path(folder, "specs")]).tools
    for tool in tools:
        yield DescribedTool(spec=tool, origin=f"| Template | `toolc init --tool {name}` |")


def _index(builtin: Sequence[DescribedTool], templates: Sequence[DescribedTool]) -> str:
    lines = [
        NOTE, "", "# Built-in tools", "",
        "These tools come with toolc. `--builtin TOOLSET` and `Registry.builtin(TOOLSET)` use them",
        "([toolsets](../../guides/registries.md#toolsets-and-built-in-tools)), and `builtin` in a",
        "[project file](../project-file.md) adds single tools to your own.",
        "[Tools of agent frameworks](of-frameworks.md) lists their equivalents.", "", "| Tool | Purpose | Toolsets |",
        "|---|---|---|",
    ]  # fmt: skip
    for tool in builtin:
        lines.append(f"| [`{tool.spec.name}`]({tool.spec.name}.md) | {tool.spec.label} | {tool.toolsets} |")
    about = "These tools need your own server or key, so they are [templates](../../guides/tool-templates.md)."
    lines += ["", "## Templates", "", about, "", "| Tool | Purpose |", "|---|---|"]
    for tool in templates:
        lines.append(f"| [`{tool.spec.name}`]({tool.spec.name}.md) | {tool.spec.label} |")
    return "\n".join([*lines, ""])


def _page(described: DescribedTool) -> str:
    tool = described.spec
    lines = [NOTE, "", f"# {tool.name}", "", _cell(tool.description), ""]
    lines += ["| | |", "|---|---|", f"| Label | {tool.label} |", described.origin]
    if described.toolsets:
        lines.append(f"| Toolsets | {described.toolsets} |")
    if tool.aliases:
        lines.append(f"| Aliases | {', '.join(f'`{alias}`' for alias in tool.aliases)} |")
    lines.append(f"| Annotations | {', '.join(_annotations(tool))} |")
    lines += _permissions(permissions_of(tool, {}))
    lines += ["", "## Parameters", "", *_properties(tool.parameters.value, "The tool has no parameters.")]
    if tool.result_schema is not None:
        lines += ["", "## Data", "", *_properties(tool.result_schema.value, "")]
    if examples := list(_examples(tool)):
        lines += ["", "## Examples", "", *examples]
    return "\n".join([*lines, ""])


def _annotations(tool: ToolSpec) -> Iterator[str]:
    for name in ("read_only", "destructive", "idempotent", "open_world"):
        value = getattr(tool.annotations, name)
        if value is not None:
            yield f"`{name}: {str(value).lower()}`"


def _permissions(granted: Permissions) -> Iterator[str]:
    for name, label in LABELS.items():
        values = [format_permissions(each.value) for each in getattr(granted, name)]
        yield f"| {label} | {', '.join(f'`{value}`' for value in values) or 'none'} |"


def _properties(schema: JsonObject, nothing: str) -> Iterator[str]:
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        yield nothing
        return
    required = schema.get("required")
    yield from ("| Name | Type | | Meaning |", "|---|---|---|---|")
    for name, each in properties.items():
        about = each if isinstance(each, dict) else {}
        need = "required" if isinstance(required, list) and name in required else ""
        if "default" in about:
            need = f"default: `{json.dumps(about['default'], ensure_ascii=False)}`"
        yield f"| `{name}` | {_type(about)} | {need} | {_cell(str(about.get('description', '')))} |"


def _type(schema: JsonObject) -> str:
    if isinstance(values := schema.get("enum"), list):
        return " or ".join(f"`{json.dumps(value)}`" for value in values)
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return " or ".join(str(kind) for kind in kinds)
    items = schema.get("items")
    if kinds == "array" and isinstance(items, dict):
        return f"array of {_type(items)}"
    return str(kinds or "any")


def _examples(tool: ToolSpec) -> Iterator[str]:
    """Yield a block for each of the first tests that succeed; for a tool without one, its examples of arguments."""
    shown = [test for test in tool.tests if test.expect.error is None and _outcome(test) is not None]
    for test in shown[:MAX_EXAMPLES]:
        files = {file.path: file.text for file in test.files}
        yield from _block("Files", files) if files else ()
        yield from _block("Arguments", test.args)
        yield from _block("Result", _outcome(test))
    if not shown:
        for arguments in tool.examples:
            yield from _block("Arguments", arguments)


def _outcome(test: Test) -> JsonValue:
    expect = test.expect
    for data in (expect.structured, expect.json):
        if data is not None:
            return data[0]
    return expect.text


def _block(title: str, value: object) -> Iterator[str]:
    yield from (f"{title}:", "", "```json", json.dumps(value, ensure_ascii=False), "```", "")


def _cell(text: str) -> str:
    """Return a text for Markdown: on one line, without table separators, HTML and placeholders."""
    line = " ".join(text.split())
    for before, after in (("|", "\\|"), ("<", "&lt;"), ("*", "\\*"), ("[", "\\["), ("_", "\\_")):
        line = line.replace(before, after)
    return line
