"""What YAML and TOML can write and JSON cannot hold exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Final

from toolc.model import codes
from toolc.model.diagnostics import Code

MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that every JSON reader holds exactly (RFC 7493 section 2.2)."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a value cannot stand in a spec, and what to write instead."""

    code: Code
    message: str
    hint: str


def refusal(value: object, written: str) -> Refusal | None:
    """Why ``value``, written so in the file, is refused; None where it is not."""
    match value:
        case float() if not math.isfinite(value):
            return Refusal(codes.NOT_JSON, f"{written:.60} is not a number that JSON has", "write a finite number")
        case int() if abs(value) > MAX_INTEGER:
            return Refusal(
                codes.BIG_INTEGER,
                f"{written:.40} is beyond ±{MAX_INTEGER}, which JSON readers do not hold exactly",
                "write it in quotes, as text",
            )
        case datetime() | date() | time():
            return Refusal(
                codes.NOT_JSON,
                f"JSON has no dates and times, and {written:.60} is one",
                f'write it as text: "{written:.60}"',
            )
        case _:
            return None
