"""Find the arguments that a script declares with ``argparse``, ``click`` or ``getopts``, without running it."""

from __future__ import annotations

import ast
import re
from keyword import iskeyword
from typing import Any, Final

from toolc.compiler.schema.parameters import RESERVED
from toolc.dataclass import dataclass
from toolc.model.json_schema import JsonObject
from toolc.model.text import shorten

_LITERAL: Final = (ast.Constant, ast.List, ast.Tuple, ast.UnaryOp)
_TYPES: Final = {"int": "integer", "click.INT": "integer", "float": "number", "click.FLOAT": "number"}
_UNPLAIN: Final = re.compile(r"^click\.group$|\.(?:add_subparsers|parse_known_args)$")
"""Matches calls after which the declarations are not all that there is to know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptOption:
    """An argument of a script. ``flag`` is empty for a positional argument.

    ``words`` is code for the words of the command line that pass its value.
    """

    name: str
    flag: str
    schema: JsonObject
    words: str
    is_required: bool = False


def shell_options(code: str) -> tuple[list[ScriptOption], bool]:
    """Return the ``getopts`` options and the positional arguments of a shell script, and whether it declares any."""
    match = re.search(r"""\bgetopts\s+["']?:?([A-Za-z0-9:]+)["']?\s""", code)
    found = []
    for letter, colon in re.findall(r"([A-Za-z0-9])(:?)", match[1] if match else ""):
        usage = re.search(rf"(?m)^[^\n\w-]*-{letter}\b(?: +[A-Z_]+\b| +<\w+>)?[ \t:]+(\w.*\w)", code)
        schema: JsonObject = {"type": "string" if colon else "boolean"}
        found.append(_option(letter, f"-{letter}", schema, usage[1] if usage else ""))
    rest: JsonObject = {"type": "array", "items": {"type": "string"}}
    return [*found, _option("arguments", "", rest, "The other arguments.")] if found else [], bool(found)


def python_options(tree: ast.Module) -> tuple[list[ScriptOption], bool]:
    """Return the arguments that a script declares with ``argparse`` or ``click``, and whether they are complete."""
    found, is_plain = list[ScriptOption](), True
    for node in ast.walk(tree):
        name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        is_plain &= not _UNPLAIN.search(name)
        if isinstance(node, ast.Call) and re.search(r"\.add_argument$|^click\.(?:option|argument)$", name):
            try:
                found += _declared(node, is_click=name.startswith("click."))
            except ValueError:
                is_plain = False
    return found, is_plain and 0 < len({each.name for each in found}) == len(found)


def _declared(node: ast.Call, *, is_click: bool) -> list[ScriptOption]:
    """Return the argument of a declaration. Raises ``ValueError`` if the code does not show how it is passed."""
    texts = [str(ast.literal_eval(each)) for each in node.args]
    written = {str(each.arg): each.value for each in node.keywords}
    said: dict[str, Any] = {key: ast.literal_eval(each) for key, each in written.items() if isinstance(each, _LITERAL)}
    flags = sorted((each for each in texts if each.startswith("-")), key=lambda each: not each.startswith("--"))
    flag, action = next(iter(flags), ""), str(said.get("action", "store"))
    nargs, default = said.get("nargs"), said.get("default")
    is_switch = action in {"store_true", "store_false", "count"} or True in (said.get("is_flag"), said.get("count"))
    if action in {"version", "help"}:
        return []
    if (
        not texts
        or "/" in flag
        or {"nargs", "action"} & (written.keys() - said.keys())
        or not (is_switch or action in {"store", "append"})
    ):
        raise ValueError(flag)
    kind = ast.unparse(written["type"]) if "type" in written else type(default).__name__ if is_click else ""
    choices = re.fullmatch(r"click\.Choice\((\[.*?\]|\(.*?\)).*\)", kind)
    listed = ast.literal_eval(choices[1]) if choices else said.get("choices", ())
    schema: JsonObject = {"type": "boolean" if is_switch else _TYPES.get(kind, "string")}
    schema |= {"enum": [*listed]} if listed else {}
    is_group = nargs not in (None, "?", 1)
    if is_group or action == "append" or said.get("multiple") is True:
        schema = {"type": "array", "items": schema}
        schema |= {"minItems": 1} if nargs == "+" else {}
    text = str(said.get("help", "")).replace("%(default)s", str(default))
    if type(default) in {str, int, float} and str(default) not in text:
        text += f" Default: {default}."
    is_required = said.get("required", not flag and nargs not in ("?", "*", -1) and "default" not in written)
    return [_option(flag or texts[0], flag, schema, text, is_required=is_required, is_group=is_group)]


def _option(
    name: str, flag: str, schema: JsonObject, text: str, *, is_required: bool = False, is_group: bool = False
) -> ScriptOption:
    name = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")
    name = f"option_{name}" if name in {*RESERVED, "sys"} or iskeyword(name) or not name[:1].isalpha() else name
    schema = schema | ({"description": shorten(" ".join(text.split()), 400)} if text.strip() else {})
    words = f"*([{flag!r}, *map(str, {name})] if {name} else [])" if is_group and flag else f"*_words({flag!r}, {name})"
    return ScriptOption(name=name, flag=flag, schema=schema, words=words, is_required=is_required)
