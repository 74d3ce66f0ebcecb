"""Python code that runs text as code: ``eval``, ``exec`` and shells, with text that is not written in the file."""

from __future__ import annotations

import ast
from typing import Final

from toolc.compiler.decode_function import PythonSource
from toolc.document.map_reader import Findings
from toolc.model import codes

_EVALUATORS: Final = frozenset({"eval", "exec"})
_SHELLS: Final = frozenset(
    {
        "asyncio.create_subprocess_shell", "os.popen", "os.system", "subprocess.getoutput",
        "subprocess.getstatusoutput",
    }
)  # fmt: skip
_PARSE_HINT: Final = "parse the value instead, for example with json.loads or ast.literal_eval"
_LIST_HINT: Final = "name the program and its arguments in a list, without a shell"


def report_text_as_code(tree: ast.Module, source: PythonSource, findings: Findings) -> None:
    """Report each call in ``tree`` that runs as code what a model may have written."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args or isinstance(node.args[0], ast.Constant):
            continue
        name = _dotted(node.func)
        if name in _EVALUATORS:
            what, hint = f"{name}() runs text as Python code", _PARSE_HINT
        elif name in _SHELLS or _asks_for_shell(node):
            what, hint = "a shell runs this text as code", _LIST_HINT
        else:
            continue
        findings.add(codes.TEXT_AS_CODE, what, source.span_of(node, len(name)), hint)


def _dotted(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return f"{module}.{name}"
        case _:
            return ""


def _asks_for_shell(call: ast.Call) -> bool:
    return any(
        keyword.arg == "shell" and isinstance(keyword.value, ast.Constant) and keyword.value.value is True
        for keyword in call.keywords
    )
