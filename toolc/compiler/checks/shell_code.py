"""TC401: text from a model inside shell code, as in ``[sh, -c, "wc {{ path }}"]`` (CWE-78).

No quoting inside the code makes this safe. A placeholder that is the whole code is another matter: there
the tool says openly that it runs whatever it is given, as a ``bash`` tool does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic
from toolc.spec import Argv, ShellBackend, WhenGroup
from toolc.template import Template

NUMBER: Final = "TC401"

NEEDS: Final = frozenset({"backend"})

SHELLS: Final = frozenset({"ash", "bash", "dash", "fish", "ksh", "mksh", "sh", "zsh"})
_CODE_FOLLOWS: Final = re.compile(r"-[A-Za-z]*c[A-Za-z]*")


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each argument that a shell would run as code and that is partly a placeholder."""
    backend = tool.spec.backend
    if not isinstance(backend, ShellBackend) or not isinstance(backend.command, Argv):
        return
    words = tuple(_words(backend.command))
    if not any(_is_shell(_constant(template)) for template, _ in words):
        return
    shell_seen = code_follows = False
    for template, route in words:
        constant = _constant(template)
        if code_follows and template.sole is None and template.names:
            yield Diagnostic(
                codes.SHELL_TEMPLATE, "a placeholder inside shell code can add commands to it", tool.span(*route),
                "use 'script' and \"$ARG_name\", or name the program itself in 'argv'",
            )  # fmt: skip
        if code_follows:
            shell_seen = False
        code_follows = shell_seen and constant is not None and bool(_CODE_FOLLOWS.fullmatch(constant))
        shell_seen = shell_seen or _is_shell(constant)


def _words(argv: Argv) -> Iterator[tuple[Template, tuple[str | int, ...]]]:
    """Each argument and its route."""
    for index, element in enumerate(argv.elements):
        route = ("backend", "shell", "argv", index)
        if isinstance(element, WhenGroup):
            yield from ((each, (*route, "argv", inner)) for inner, each in enumerate(element.argv))
        else:
            yield element, route


def _constant(template: Template) -> str | None:
    """What a template without placeholders says: such a one has one part, or none."""
    if len(template.parts) == 1 and isinstance(template.parts[0], str):
        return template.parts[0]
    return None if template.parts else ""


def _is_shell(constant: str | None) -> bool:
    return constant is not None and constant.rpartition("/")[2] in SHELLS
