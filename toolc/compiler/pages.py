"""Pages about the findings, in Markdown: one for each number, and an overview of all."""

from __future__ import annotations

from collections.abc import Iterable

from toolc.compiler.rule import EXAMPLE, Rule
from toolc.diagnostics import Code


def page(rule: Rule, found: str) -> str:
    """The page of one number; ``found`` are the findings about its bad example, as a person reads them."""
    sides = [f"- {code.summary} ({standing(code)})" for code in rule.codes]
    beside = [f"Beside it stands `{name}`:\n\n{_block(text)}" for name, text in sorted(rule.beside.items())]
    parts = [
        f"## {title(rule)}",
        "\n".join(sides) if len(sides) > 1 else f"{standing(rule.codes[0]).capitalize()}.",
        rule.explanation.strip(),
        f"This `{EXAMPLE}` has a finding:\n\n{_block(rule.bad, 'yaml')}",
        *beside,
        _block(found, "text"),
        f"Put right:\n\n{_block(rule.good, 'yaml')}",
    ]
    return "\n\n".join(parts) + "\n"


def title(rule: Rule) -> str:
    """A rule's number and its first summary, on one line."""
    return f"{rule.number}: {rule.codes[0].summary}"


def standing(code: Code) -> str:
    """How bad a finding of ``code`` is, and whether it is reported unasked."""
    return f"{code.severity}" if code.on else f"{code.severity}, off unless it is selected"


def overview(rules: Iterable[Rule]) -> str:
    """One line for each side of each rule: the number, how bad it is, whether it is on, and what it is."""
    lines = [
        f"{code.number}  {code.severity:<7}  {'on ' if code.on else 'off'}  {code.summary}"
        for rule in rules
        for code in rule.codes
    ]
    return "\n".join(lines) + "\n"


def _block(text: str, language: str = "") -> str:
    # An example may hold bytes that are no UTF-8, and characters that do things to a terminal.
    decoded = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    shown = "".join(c if c.isprintable() or c in "\n\t" else f"<U+{ord(c):04X}>" for c in decoded)
    return f"```{language}\n{shown.rstrip()}\n```"
