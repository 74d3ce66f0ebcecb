"""``result.select`` and ``result.template``: what becomes of a tool's data and words before a model sees them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

from toolc.guest.context import Result, ToolError
from toolc.guest.job import TOOL_DIRECTORY
from toolc.guest.truncate import truncate_end

LIBRARIES = os.path.join(TOOL_DIRECTORY, "lib")
"""Where the host puts them."""


def jmespath_search(expression: str, value: object) -> object:
    """What JMESPath finds. Raises ``ToolError`` where the expression does not fit the value."""
    _find()
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        return jmespath.search(expression, value)
    except (JMESPathError, RecursionError, TypeError, ValueError) as error:
        words = truncate_end(" ".join(str(error).split()), 200)
        raise ToolError("serialization", "%s does not fit what came: %s" % (expression[:100], words)) from error


def render(template: str, variables: dict[str, object]) -> Iterator[str]:
    """The pieces of a template's text. Nothing of the variables is ever a template. Raises ``ToolError``."""
    _find()
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(autoescape=False)
    try:
        yield from environment.from_string(template).generate(variables)
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        words = truncate_end(" ".join(str(error).split()), 300)
        raise ToolError("serialization", "result.template does not fit what came: %s" % words) from error


def _find() -> None:
    if LIBRARIES not in sys.path:
        # Before what an image may have of that name: the spec was checked with these.
        sys.path.insert(0, LIBRARIES)
        sys.dont_write_bytecode = True


FIRST_CHARACTERS = 200
"""How much of a text that is no JSON its error repeats, in characters."""


def shape(
    text: str,
    data: list[object] | None,
    select: str | None,
    template: str | None,
    arguments: dict[str, object],
    limit: int,
) -> Result:
    """A tool's ``text``, and its ``data`` in a list of one, as the spec wants them; ``limit`` is in bytes.

    Runs in a sandbox after the tool's own. Raises ``ToolError`` (serialization, output_limit).
    """
    if select is not None:
        found = [jmespath_search(select, (data or [_parsed(text)])[0])]
        text = dumped(found[0])
        check_size(len(text.encode("utf-8", "replace")), limit)
    else:
        found = data or []
    if template is not None:
        text = rendered(template, found[0] if found else text, text, arguments, limit)
    return Result(text, found or None, {})


def rendered(template: str, result: object, text: str, arguments: dict[str, object], limit: int) -> str:
    """The template's words. Raises ``ToolError``, also where they are longer than ``limit`` bytes."""
    pieces = []
    size = 0
    for piece in render(template, {"result": result, "text": text, "args": arguments}):
        size += len(piece.encode("utf-8", "replace"))
        check_size(size, limit)
        pieces.append(piece)
    return "".join(pieces)


def check_size(size: int, limit: int) -> None:
    """Raise ``ToolError`` where a result of ``size`` bytes is longer than ``limit``."""
    if size > limit:
        raise ToolError(
            "output_limit", "the result has %d bytes, and %d are allowed; ask for less of it" % (size, limit)
        )


def dumped(value: object) -> str:
    """JSON as a model sees it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        head = " ".join(text[:FIRST_CHARACTERS].split())
        raise ToolError(
            "serialization", "the output is not JSON, as result.select wants: %s; it begins: %s" % (error, head)
        ) from error
