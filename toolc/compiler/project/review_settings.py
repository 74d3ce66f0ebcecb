"""Decode ``review`` of a project file: who may change what a review accepts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from toolc.document.map_reader import Findings, Reader, choice, list_of, map_parser, text
from toolc.document.nodes import Node
from toolc.model import codes

LOGIN: Final = "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"
"""The pattern of an approver: the name of a user on the code host, without ``@``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSettings:
    """The settings of ``toolc diff`` in the project file of the base of a review.

    - ``accept_from``: ``base``: what the head adds to the accepted changes, and what it relaxes in its settings, has
      no effect. ``head``: it takes effect, because the code host protects these files.
    - ``approvers``: the users whose approval of the head lets it take effect too.
    """

    accept_from: Literal["base", "head"] = "base"
    approvers: tuple[str, ...] = ()

    def approving(self, login: str) -> bool:
        """Return whether a user is one of the approvers; letter case does not matter."""
        return login.isascii() and login.lower() in {each.lower() for each in self.approvers}


_ACCEPT_FROM: Final[tuple[Literal["base", "head"], ...]] = ("base", "head")


@map_parser("review")
def decode_review(reader: Reader) -> ReviewSettings | None:
    """Decode the map. Values with errors are left out, which accepts less."""
    return ReviewSettings(
        accept_from=reader.default("accept_from", choice(_ACCEPT_FROM), "base"),
        approvers=reader.default("approvers", list_of(_login), ()),
    )


def _login(node: Node, what: str, findings: Findings) -> str | None:
    login = text(node, what, findings)
    if login is None or re.fullmatch(LOGIN, login):
        return login
    is_team = "/" in login
    problem = "names a team" if is_team else "is not the name of a user"
    hint = "list the members of the team" if is_team else "write the user's name on the code host without @, e.g. alice"
    findings.add(codes.BAD_VALUE, f"'{login[:100]}' {problem}", node.span, hint)
    return None
