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
from toolc.compiler.rule import Rule
from toolc.diagnostics import Diagnostic

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


_BAD: Final = """\
toolc: 1
name: find_order
label: Find an order
description: Find an order by its number. Use it before you answer questions about a delivery.
parameters:
  number: {type: string, pattern: "^[A-Z]{2}[0-9]{6}$", description: "Two capitals and six digits, e.g. 'AB123456'"}
annotations: {read_only: true, open_world: false}
backend:
  shell: {argv: [find-order, --, "{{ number }}"]}
sandbox: {image: "shop/orders:3"}
examples:
  - {number: AB123456}
"""

RULE: Final = Rule(
    codes=(codes.GEMINI_KEYWORD,),
    explanation="""\
Gemini takes a part of JSON Schema, and refuses a whole request for one keyword beyond it. toolc says such
keywords in the description instead, so the tool works; but the model's output is not held to them while it is
written.

A call is validated against the whole schema all the same, and a wrong one comes back as `invalid_args`. The
check is off unless it is selected, for teams that want their tools alike on every provider.
""",
    bad=_BAD,
    good=_BAD.replace('pattern: "^[A-Z]{2}[0-9]{6}$", ', ""),
)
