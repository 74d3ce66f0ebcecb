"""``if`` of a composite's step: JMESPath on the host, over values that tools wrote.

Why this needs no sandbox. The expression was reviewed; what it works on is hostile. JMESPath has no loops, no
variables and no way back to the root, so its work grows with the values and with nothing else, but for what the
expression itself multiplies. Each step of the library's interpreter is counted here together with what it made,
and the one function whose result can be longer than its arguments together (``join``) is measured before it is
called. So an evaluation ends after a bounded amount of work, whatever a tool wrote; then the step has failed.
"""

from __future__ import annotations

from typing import Any, Final

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.functions import Functions
from jmespath.visitor import Options, TreeInterpreter

from toolc.model.json_schema import JsonObject, JsonValue

MAX_WORK: Final = 1_000_000
"""How many steps an evaluation may take and values it may make, all in all: about a second."""

MAX_TEXT: Final = 16 * 1024 * 1024
"""The longest text that ``join`` may make, in characters."""

_CHARACTERS: Final = 1000
"""So much text is as much work as one value."""


class ConditionError(Exception):
    """An expression that does not fit the values; ``str(error)`` says why, in one line."""


def holds(expression: str, values: JsonObject) -> bool:
    """Whether ``expression`` finds something: not false, null, or empty. Raises ``ConditionError``."""
    try:
        found: JsonValue = _Bounded().visit(jmespath.compile(expression).parsed, values)
    except (JMESPathError, RecursionError, TypeError, ValueError, OverflowError) as error:
        words = " ".join(str(error).split())[:200]
        raise ConditionError(f"{expression[:100]} does not fit what came: {words}") from None
    # JMESPath's own truth, in which 0 is something.
    return not (found is None or found is False or found in ("", [], {}))


class _Bounded(TreeInterpreter):
    """Gives up after ``MAX_WORK``."""

    def __init__(self) -> None:
        super().__init__(Options(custom_functions=_Measured()))
        self._left = MAX_WORK

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:  # the library's signature
        found = super().visit(node, *args, **kwargs)
        self._left -= 1
        if isinstance(found, list | dict):
            self._left -= len(found)
        elif isinstance(found, str):
            self._left -= len(found) // _CHARACTERS
        if self._left < 0:
            raise ConditionError("the values are too large for this condition")
        return found


class _Measured(Functions):
    """The library's functions; none makes a text longer than ``MAX_TEXT``."""

    def call_function(self, function_name: str, resolved_args: Any) -> Any:  # as above
        if function_name == "join" and _joined_size(resolved_args) > MAX_TEXT:
            raise ConditionError("the values are too large for this condition")
        return super().call_function(function_name, resolved_args)


def _joined_size(arguments: list[object]) -> int:
    match arguments:
        case [str() as glue, list() as items]:
            return len(glue) * len(items) + sum(len(each) for each in items if isinstance(each, str))
        case _:
            return 0
