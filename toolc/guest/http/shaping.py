"""Apply ``result.select`` (JMESPath) and ``result.template`` to the data and text of a result."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

from toolc.guest.context import Result, ToolError
from toolc.guest.job import TOOL_DIRECTORY
from toolc.guest.truncate import truncate_end

LIBRARIES = os.path.join(TOOL_DIRECTORY, "lib")
"""The folder where the host puts the libraries."""


def jmespath_search(expression: str, value: object) -> object:
    """Return the result of a JMESPath expression. Raise ``ToolError`` if the expression does not fit the value."""
    _find()
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        return jmespath.search(expression, value)
    except (JMESPathError, RecursionError, TypeError, ValueError) as error:
        words = truncate_end(" ".join(str(error).split()), 200)
        raise ToolError("serialization", "%s does not fit what came: %s" % (expression[:100], words)) from error


def render(template: str, variables: dict[str, object]) -> Iterator[str]:
    """Yield the pieces of a rendered template. Variables are never parsed as templates. Raise ``ToolError``."""
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
        # Use these before packages of the same name in the image: the spec was checked with these.
        sys.path.insert(0, LIBRARIES)
        sys.dont_write_bytecode = True


FIRST_CHARACTERS = 200
"""The maximum length of the quoted part of a text that is not JSON, in characters."""


def shape(
    text: str,
    data: list[object] | None,
    select: str | None,
    template: str | None,
    arguments: dict[str, object],
    limit: int,
) -> Result:
    """Return ``text`` and ``data`` (a list with one value) in the form defined by the spec; ``limit`` is in bytes.

    Runs in a separate sandbox after the tool's. Raise ``ToolError`` (serialization, output_limit).
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
    """Return the rendered template. Raise ``ToolError``, also if it is longer than ``limit`` bytes."""
    pieces = []
    size = 0
    for piece in render(template, {"result": result, "text": text, "args": arguments}):
        size += len(piece.encode("utf-8", "replace"))
        check_size(size, limit)
        pieces.append(piece)
    return "".join(pieces)


def check_size(size: int, limit: int) -> None:
    """Raise ``ToolError`` if a result of ``size`` bytes is longer than ``limit``."""
    if size > limit:
        raise ToolError(
            "output_limit", "the result has %d bytes, and %d are allowed; ask for less of it" % (size, limit)
        )


def dumped(value: object) -> str:
    """Return JSON in the format that is shown to a model."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        head = " ".join(text[:FIRST_CHARACTERS].split())
        raise ToolError(
            "serialization", "the output is not JSON, as result.select wants: %s; it begins: %s" % (error, head)
        ) from error
