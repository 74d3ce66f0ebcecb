"""JMESPath and Jinja2, whose source comes with a call that needs them: the only packages a guest ever imports.

They work on what a server says, which is why they run here and not on the host.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from toolc.guest.context import ToolError
from toolc.guest.cut import head
from toolc.guest.job import TOOL_DIRECTORY

LIBRARIES = os.path.join(TOOL_DIRECTORY, "lib")
"""Where the host puts them."""


def search(expression: str, value: object) -> object:
    """What JMESPath finds. Raises ``ToolError`` where the expression does not fit the value."""
    _find()
    import jmespath
    from jmespath.exceptions import JMESPathError

    try:
        return jmespath.search(expression, value)
    except (JMESPathError, RecursionError, TypeError, ValueError) as error:
        words = head(" ".join(str(error).split()), 200)
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
        words = head(" ".join(str(error).split()), 300)
        raise ToolError("serialization", "result.template does not fit what came: %s" % words) from error


def _find() -> None:
    if LIBRARIES not in sys.path:
        # Before what an image may have of that name: the spec was checked with these.
        sys.path.insert(0, LIBRARIES)
        sys.dont_write_bytecode = True
