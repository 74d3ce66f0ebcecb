"""Reading a central policy: a file of its own, which no repository of specs holds and none can loosen."""

from __future__ import annotations

from pathlib import Path

from toolc.compiler.decode_policy import decode_policy_file
from toolc.document.loader import load_project
from toolc.document.map_reader import Findings
from toolc.model.diagnostics import Diagnostics
from toolc.model.errors import UsageError
from toolc.policy.policy import Policy

__all__ = ["read_policy"]


def read_policy(path: str | Path) -> Policy:
    """The policy in a YAML or TOML file with the one key ``policy``.

    Raises ``UsageError`` where it is not there or anything in it is wrong: half a policy would allow too much.
    """
    shown = Path(path).as_posix()
    diagnostics = Diagnostics()
    document = load_project(Path(path), shown, diagnostics, what="a policy's file")
    policy = decode_policy_file(document, Findings(document.source, diagnostics)) if document else None
    errors = [each for each in diagnostics.sorted() if each.is_error]
    lines = [f"{each.span}: {each.message}" + (f"; {each.hint}" if each.hint else "") for each in errors]
    if policy is None or lines:
        raise UsageError("\n".join([f"the policy {shown} cannot be used:", *lines]))
    return policy
