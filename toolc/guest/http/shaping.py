"""Apply ``result.select`` (JMESPath) and ``result.template`` to the data and text of a result."""

from __future__ import annotations

import json
import os
import sys

from toolc.guest.context import Result, ToolError
from toolc.guest.job import TOOL_DIRECTORY
from toolc.guest.truncate import truncate_end

LIBRARIES = os.path.join(TOOL_DIRECTORY, "lib")
"""The folder where the host puts the libraries."""

FIRST_CHARACTERS = 200
"""The maximum length of the quoted part of a text that is not JSON, in characters."""


def jmespath_search(expression: str, value: object) -> object:
    """Return the result of a JMESPath expression. Raises ``ToolError`` if it cannot be applied to the value."""
    _add_libraries()
    import jmespath  # lazy: importable only after the line above

    try:
        return jmespath.search(expression, value)
    except (jmespath.exceptions.JMESPathError, RecursionError, TypeError, ValueError) as error:
        reason = truncate_end(" ".join(str(error).split()), 200)
        raise ToolError("serialization", "%s cannot be applied to the data: %s" % (expression[:100], reason)) from error


def render_template(template: str, result: object, text: str, arguments: dict[str, object], limit: int) -> str:
    """Return the rendered template. Its variables are never parsed as templates.

    Raises ``ToolError`` if the template cannot be applied, or if the rendered text is longer than ``limit`` bytes.
    """
    _add_libraries()
    import jinja2.sandbox  # lazy: importable only after the line above

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(autoescape=False)
    pieces = []
    size = 0
    try:
        for piece in environment.from_string(template).generate({"result": result, "text": text, "args": arguments}):
            size += len(piece.encode("utf-8", "replace"))
            check_size(size, limit)
            pieces.append(piece)
    except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        reason = truncate_end(" ".join(str(error).split()), 300)
        raise ToolError("serialization", "result.template cannot be applied to the data: %s" % reason) from error
    return "".join(pieces)


def _add_libraries() -> None:
    if LIBRARIES not in sys.path:
        # These precede the image's packages, because the spec was checked with these versions.
        sys.path.insert(0, LIBRARIES)
        sys.dont_write_bytecode = True


def shape(
    text: str,
    data: list[object] | None,
    select: str | None,
    template: str | None,
    arguments: dict[str, object],
    limit: int,
) -> Result:
    """Return ``text`` and ``data`` (a list with one value) in the form that the spec defines. ``limit`` is in bytes.

    This runs in its own sandbox, after that of the tool. Raises ``ToolError`` (serialization, output_limit).
    """
    if select is not None:
        data = [jmespath_search(select, (data or [_parse(text)])[0])]
        text = to_json(data[0])
        check_size(len(text.encode("utf-8", "replace")), limit)
    if template is not None:
        text = render_template(template, data[0] if data else text, text, arguments, limit)
    return Result(text, data or None, {})


def check_size(size: int, limit: int) -> None:
    """Raise ``ToolError`` if a result of ``size`` bytes is longer than ``limit``."""
    if size > limit:
        raise ToolError("output_limit", "the result has %d bytes; the maximum is %d; request less data" % (size, limit))


def to_json(value: object) -> str:
    """Return a value as compact JSON for a model."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parse(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        start = " ".join(text[:FIRST_CHARACTERS].split())
        message = "result.select requires JSON, but the output is not JSON: %s. It begins with: %s" % (error, start)
        raise ToolError("serialization", message) from error
