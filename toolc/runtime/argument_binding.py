"""Validate the arguments of calls and fill in defaults.

Arguments that certainly satisfy a simple schema, as almost all do, need neither the validator nor corrections.
"""

from __future__ import annotations

from itertools import islice

from toolc.model.call import NO_CLAIMS, BoundCall, Claims
from toolc.model.json_schema import JsonObject, JsonValue
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.argument_values import MAX_PROBLEMS, BindError, json_problems, with_defaults
from toolc.validation.plain_schema import plainly_satisfies


class CallerError(ValueError):
    """A parameter with ``from`` has no valid value, or the call sends one."""


def bind(
    tool: ToolSpec, arguments: JsonValue, call_id: str, *, json_text: bool = True, claims: Claims = NO_CLAIMS
) -> BoundCall:
    """Read arguments as models write them, fill in defaults, and validate.

    A null for an optional parameter that cannot be null means that the parameter is absent. Unless ``json_text`` is
    off, JSON text is parsed where the schema allows no string. Where the schema requires an integer, ``2.0`` becomes
    ``2``. Parameters with ``from`` get their values from ``claims``. The caller's ``arguments`` are not changed. Raises
    ``BindError`` with up to ``MAX_PROBLEMS`` problems, ``CallerError``, and ``RegistryError`` if the schema itself is
    broken.
    """
    filled = _filled(tool, arguments, claims) if tool.caller else {}
    if problems := tuple(islice(json_problems(arguments, ()), MAX_PROBLEMS)):
        raise BindError(tool.name, problems)
    coerced: tuple[JsonObject, ...] = ()
    bound = with_defaults(tool.parameters.value, arguments)
    if not isinstance(bound, dict) or not plainly_satisfies(bound, tool.parameters.value):
        from toolc.runtime.argument_correction import corrected  # lazy: +8 ms; most arguments need no correction

        bound, coerced = corrected(tool, arguments, json_text=json_text)
    return BoundCall(tool=tool, arguments={**bound, **filled}, call_id=call_id, coerced=coerced)


def _filled(tool: ToolSpec, arguments: JsonValue, claims: Claims) -> JsonObject:
    """Return the values of parameters with ``from``. Messages do not contain them, because a model may read these."""
    filled: JsonObject = {}
    for each in tool.caller:
        if isinstance(arguments, dict) and each.name in arguments:
            raise CallerError(f"{each.name!r} is set by the host and cannot be an argument; leave it out")
        if each.claim not in claims:
            raise CallerError(f"the tool {tool.name!r} needs to know {each.claim!r} of its caller, which is not known")
        filled[each.name] = claims[each.claim]
        if not plainly_satisfies(filled[each.name], each.schema) and not _satisfies(filled[each.name], each.schema):
            raise CallerError(f"{each.claim!r} of the caller is not valid for {each.name!r} of the tool {tool.name!r}")
    return filled


def _satisfies(value: JsonValue, schema: JsonObject) -> bool:
    from toolc.runtime.argument_problems import schema_problems  # lazy: +8 ms; most values satisfy a simple schema

    return not schema_problems(schema, value)
