"""TC703: a choice at the root of the parameters (``anyOf``, ``oneOf``, ...), which providers refuse.

Lowering moves such a keyword into the description (see ``toolc.providers.lowering``): the model reads it as
words, and nothing holds it to them until the call is validated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolc.compiler import codes
from toolc.compiler.decode_tool import LocatedTool
from toolc.diagnostics import Diagnostic

NUMBER: Final = "TC703"

NEEDS: Final = frozenset({"parameters"})

REFUSED: Final = frozenset({"allOf", "anyOf", "const", "enum", "not", "oneOf"})


def check(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Each keyword at the root that some provider refuses there."""
    schema = tool.spec.parameters.value
    for key in sorted(REFUSED & schema.keys()) if not REFUSED.isdisjoint(schema) else ():
        yield Diagnostic(
            codes.ROOT_CHOICE, f"providers refuse '{key}' at the root of the parameters; a model reads it as words",
            tool.key_span("parameters", key),
            "make two tools, or one parameter with an enum that says which of the others count",
        )  # fmt: skip
