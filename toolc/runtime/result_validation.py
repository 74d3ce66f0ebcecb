"""Compare the data of a tool with the ``result.schema`` of its spec, within bounds of time and memory."""

from __future__ import annotations

import math
from itertools import islice
from time import monotonic
from typing import Final

from toolc.model.errors import RegistryError
from toolc.model.json_schema import Schema, values_within
from toolc.model.result import ToolResult, failure
from toolc.runtime.argument_problems import failed_keyword, problems_of
from toolc.validation.plain_schema import plainly_satisfies
from toolc.validation.validate import (
    OutOfTimeError,
    TooDeepError,
    UnresolvableError,
    ValidationBudget,
    validation_errors,
)

MAX_RESULT_VALUES: Final = 250_000
"""The maximum number of values in a tool's data that is compared with a schema that is not simple.

The comparison takes up to 500 bytes of memory for each value, 125 MB in all.
"""

MIN_VALIDATION_SECONDS: Final = 1.0
"""How long data may be compared with its schema in any case, in seconds, if the tool has used all of its time."""

MAX_RESULT_PROBLEMS: Final = 10
"""The maximum number of problems that a message about a result lists.

A model cannot correct the data of a tool, so a few are enough.
"""


def validate_result(result: ToolResult, schema: Schema, tool: str, *, until: float = math.inf) -> ToolResult:
    """Return ``result``, or an error if its data does not satisfy ``schema``, the ``result.schema`` of ``tool``.

    ``until`` is the end of the call's time, of the monotonic clock. Raises ``RegistryError`` if the schema itself is
    broken.
    """
    if result.is_error:
        return result
    if result.structured is None:
        message = "the tool returned no data, but its spec has a result.schema"
        return failure("serialization", message, result.details)
    value = result.structured[0]
    if plainly_satisfies(value, schema.value):
        return result
    if next(islice(values_within(value), MAX_RESULT_VALUES, None), None):
        message = (
            f"the tool's data has more than {MAX_RESULT_VALUES} values, too many to compare with the result.schema of "
            "its spec; request less data"
        )
        return failure("output_limit", message, result.details)
    try:
        budget = ValidationBudget.of(value, max(until, monotonic() + MIN_VALIDATION_SECONDS))
        errors = validation_errors(schema.value, value, budget=budget)
        problems = [line for each in errors for line in problems_of(failed_keyword(each))]
    except OutOfTimeError:
        message = "the call's time ended while its data was compared with the result.schema of its spec"
        return failure("timeout", f"{message}; request less data", result.details)
    except TooDeepError as error:
        problems = [f"result: {error}"]
    except UnresolvableError as error:
        raise RegistryError(f"the result.schema of tool {tool!r} cannot be resolved ({error})") from None
    if not problems:
        return result
    problems = [each.replace("arguments: ", "result: ", 1) for each in dict.fromkeys(problems)][:MAX_RESULT_PROBLEMS]
    message = "the tool's data does not match the result.schema of its spec:"
    return failure("serialization", "\n- ".join([message, *problems]), result.details)
