"""What a rule is: the page behind a code, with an example that breaks it and one that keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from toolc.diagnostics import Code

EXAMPLE: Final = "tool.yaml"
"""The file that a rule's example is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One number's page. ``toolc explain`` prints it, the docs are made of it, and the tests run it.

    ``codes`` are the sides of one matter, all of one number; the first one's summary is the title.
    ``explanation`` is Markdown: why it matters and what to do. ``bad`` is a spec with a finding of this
    number; ``good`` is the same tool put right, without any finding. Both stand in a folder as ``EXAMPLE``,
    with the files ``beside`` them, by name. A byte that is no UTF-8 is written as ``surrogateescape`` has it.
    """

    codes: tuple[Code, ...]
    explanation: str
    bad: str
    good: str
    beside: Mapping[str, str] = field(default_factory=dict)

    @property
    def number(self) -> str:
        """The number all of ``codes`` have, like ``TC101``."""
        return self.codes[0].number
