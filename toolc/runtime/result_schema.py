"""Whether a tool's data is what its spec promises in ``result.schema``."""

from __future__ import annotations

from itertools import islice
from typing import Final

from toolc.model.errors import RegistryError
from toolc.model.result import ToolResult, failure
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.problems import failed, problems_of
from toolc.validation.plain_schema import plainly_satisfies
from toolc.validation.validate import UnresolvableError, errors

MAX_PROBLEMS: Final = 10
"""How many problems one answer tells."""


def as_promised(result: ToolResult, tool: ToolSpec) -> ToolResult:
    """``result``, or an error where its data does not satisfy the schema.

    Raises ``RegistryError`` where the schema itself is broken.
    """
    schema = tool.result_schema
    if schema is None or result.is_error:
        return result
    if result.structured is None:
        message = "the tool gave no data, and its spec promises some in result.schema"
        return failure("serialization", message, result.details)
    value = result.structured[0]
    if plainly_satisfies(value, schema.value):
        return result
    try:
        found = [line for each in errors(schema.value, value) for line in problems_of(failed(each))]
    except UnresolvableError as error:
        raise RegistryError(f"the result.schema of tool {tool.name!r} cannot be resolved ({error})") from None
    if not found:
        return result
    lines = (line.replace("arguments: ", "result: ", 1) for line in islice(dict.fromkeys(found), MAX_PROBLEMS))
    message = "the tool's data is not what its spec promises in result.schema:\n" + "\n".join(
        f"- {each}" for each in lines
    )
    return failure("serialization", message, result.details)
