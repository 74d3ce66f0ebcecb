"""The policy file of ``--policy`` in a review: as it is outside the repository under review, else that of the base."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from toolc.compiler.project.policy import read_policy
from toolc.policy.policy import Policy
from toolc.review.model.change import ToolChange
from toolc.review.project_changes import central_policy_changes
from toolc.review.sources.reviewed_files import ReviewedFiles

__all__ = ["CentralPolicy", "read_central_policy"]


@dataclass(frozen=True, slots=True)
class CentralPolicy:
    """The policies that the tools must comply with, all policies that name approvers, and what the head relaxes."""

    required: tuple[Policy, ...] = ()
    all: tuple[Policy, ...] = ()
    changes: tuple[ToolChange, ...] = ()


def read_central_policy(name: str, files: ReviewedFiles, *, head_decides: bool) -> CentralPolicy:
    """Read the file ``name``. A stricter policy of the head applies too. Raises ``UsageError``."""
    path = Path(name)
    in_base, in_head = (None, None) if files.is_outside(path) else (files.of_base(path), files.of_head(path))
    if in_base is None and in_head is None:
        return CentralPolicy((policy := read_policy(path),), (policy,))
    old = read_policy(in_base, path.as_posix()) if in_base else None
    new = read_policy(in_head, path.as_posix()) if in_head else None
    both = tuple(each for each in (old, new) if each)
    required = (new,) if head_decides and new else both
    return CentralPolicy(required, both, tuple(central_policy_changes(old, new)) if old else ())
