"""Version numbers of programs and kernels, compared as their projects count them.

A distribution's number says which release it started from, not which fixes it has added since.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Standing: TypeAlias = Literal["affected", "unknown", "fixed"]
"""Whether a version has a flaw. ``unknown``: of its branch it is not recorded where it was mended."""

_CANDIDATE: Final = re.compile(r"[-.~]?(alpha|beta|rc)[-.]?(\d*)", re.IGNORECASE)
_DATE: Final = re.compile(r"(20\d{6})(?:\.(\d+))?")


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """A release: its numbers, and then what sorts a candidate before it. ``rest`` is what a packager has added."""

    numbers: tuple[int, ...]
    candidate: tuple[str, int] = ("~", 0)  # sorts after every word that a candidate has
    rest: str = ""

    @property
    def branch(self) -> tuple[int, ...]:
        """What patch releases have in common."""
        return self.numbers[:2]

    @property
    def is_packaged(self) -> bool:
        """Whether somebody else than the project made it, and may have mended it."""
        return bool(self.rest)

    def release(self) -> Version:
        """The project's release that it was made of."""
        return Version(self.numbers, self.candidate)


def parse(text: str) -> Version | None:
    """A version as programs, kernels and packages write it; None where it is none.

    ``v1.4.0-rc.3``, ``1.1.5+ds1-1+deb12u1``, ``6.1.0-18-amd64``, and gVisor's dates: ``release-20240212.0``.
    """
    if dated := _DATE.search(text):
        return Version((int(dated[1]), int(dated[2] or 0), 0), rest="" if text.startswith("release-") else text)
    match = re.match(r"v?(\d+(?:\.\d+)*)", text)
    if match is None:
        return None
    numbers = tuple(int(number) for number in match[1].split("."))
    rest = text[match.end() :]
    numbers += (0,) * (3 - len(numbers))
    if found := _CANDIDATE.match(rest):
        return Version(numbers, (found[1].lower(), int(found[2] or 0)), rest[found.end() :])
    return Version(numbers, rest=rest)


def standing(found: Version, since: Version, fixed: Sequence[Version], *, every_branch: bool) -> Standing:
    """Whether ``found`` has a flaw that came with ``since`` and was mended in ``fixed``, one of each branch.

    With ``every_branch``, a branch that is not named there was never mended; else it is not known.
    """
    release = found.release()
    if release < since:
        return "fixed"
    for mended in fixed:
        if mended.branch == release.branch:
            return "affected" if release < mended else "fixed"
    if release >= max(fixed):
        return "fixed"
    return "affected" if every_branch else "unknown"
