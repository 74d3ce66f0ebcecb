"""Read the arguments of a call as a model meant them, and say what is wrong with the others."""

from __future__ import annotations

from itertools import islice
from typing import Final

from toolc.model.errors import RegistryError
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import shorten
from toolc.runtime.argument_problems import describe_non_object, schema_problems
from toolc.runtime.argument_values import MAX_PROBLEMS, MAX_QUOTED, BindError, json_problems, with_defaults
from toolc.validation.coercion import parsed_texts, with_integers, without_json_text, without_nulls
from toolc.validation.validate import TooDeepError, UnresolvableError

MAX_COERCED: Final = 100
"""The maximum number of parsed texts that ``details.coerced`` lists."""


def corrected(tool: ToolSpec, arguments: JsonValue, *, json_text: bool) -> tuple[JsonObject, tuple[JsonObject, ...]]:
    """Return ``arguments`` as meant, with defaults, and ``BoundCall.coerced``.

    Raises ``BindError``, and ``RegistryError`` if the schema itself is broken.
    """
    schema = tool.parameters.value
    try:
        read, coerced = _as_meant(schema, arguments, json_text=json_text)
        bound = with_defaults(schema, read)
        if not isinstance(bound, dict):
            raise BindError(tool.name, (f"arguments: expected an object, got {describe_non_object(arguments)}",))
        if problems := tuple(islice(json_problems(bound, ()), MAX_PROBLEMS)) or schema_problems(schema, bound):
            raise BindError(tool.name, problems)
        return with_integers(schema, bound), coerced
    except (TooDeepError, RecursionError) as error:
        reason = error if isinstance(error, TooDeepError) else "nested too deeply"
        raise BindError(tool.name, (f"arguments: {reason}",)) from None
    except UnresolvableError as error:
        raise RegistryError(
            f"the parameters of tool {tool.name!r} refer to a schema that cannot be resolved ({error}); "
            "fix the $ref in its spec and build it again"
        ) from None


def _as_meant(schema: JsonObject, arguments: JsonValue, *, json_text: bool) -> tuple[JsonValue, tuple[JsonObject, ...]]:
    """Return ``arguments`` without nulls for absent values and, with ``json_text``, without JSON text for other values.

    The second value is ``BoundCall.coerced``.
    """
    given = without_nulls(schema, arguments) if isinstance(arguments, dict) else arguments
    if not json_text:
        return given, ()
    read = without_json_text(schema, given)
    texts = tuple(islice(parsed_texts(given, read), MAX_COERCED))
    # A text can contain such nulls, too.
    meant = without_nulls(schema, read) if texts and isinstance(read, dict) else read
    return meant, tuple({"pointer": pointer, "from": shorten(text, MAX_QUOTED)} for pointer, text in texts)
