"""TC701: keywords of JSON Schema that Gemini does not take. Off: lowering says them in words.

The list is what Gemini documents for ``parametersJsonSchema``, as in ``toolc.providers.gemini_schema``,
which this check may not import; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.compiler.properties import all_subschemas
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC701"

NEEDS: Final = frozenset({"parameters"})

DROPPED: Final = frozenset(
    {
        "allOf", "contains", "contentEncoding", "contentMediaType", "contentSchema", "dependentRequired",
        "dependentSchemas", "else", "exclusiveMaximum", "exclusiveMinimum", "if", "maxContains", "maxLength",
        "maxProperties", "minContains", "minLength", "minProperties", "multipleOf", "not", "pattern",
        "patternProperties", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties", "uniqueItems",
    }
)  # fmt: skip
"""Keywords that restrict values and that Gemini's subset lacks."""


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each keyword that restricts values and reaches a Gemini model as words only."""
    for schema in all_subschemas(tool):
        for entry in schema.entries:
            if entry.key in DROPPED:
                yield Diagnostic(
                    codes.GEMINI_KEYWORD, f"Gemini does not take '{entry.key}': its models read it as words",
                    entry.key_span, "nothing is lost when a call is validated; say the rule in the description too",
                )  # fmt: skip
