"""Decode ``review`` of a project file: who may change what a review accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from toolc.document.map_reader import Reader, choice, map_parser


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSettings:
    """The settings of ``toolc diff`` in the project file of the base of a review.

    With ``accept_from: base``, acceptances and relaxed settings that only the head has have no effect. With ``head``,
    they take effect, because the code host protects these files.
    """

    accept_from: Literal["base", "head"] = "base"


_ACCEPT_FROM: Final[tuple[Literal["base", "head"], ...]] = ("base", "head")


@map_parser("review")
def decode_review(reader: Reader) -> ReviewSettings | None:
    """Decode the map. A value with an error is left out, which accepts less."""
    return ReviewSettings(accept_from=reader.default("accept_from", choice(_ACCEPT_FROM), "base"))
