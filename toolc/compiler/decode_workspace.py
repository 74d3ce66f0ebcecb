"""``sandbox.workspace``: the mode alone, or a map that says what becomes of changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, get_args

from toolc.compiler.files import FileError, relative_path
from toolc.document.map_reader import Findings, Parse, Reader, choice, list_of, text
from toolc.document.nodes import Mapping, Node
from toolc.model import codes
from toolc.model.spec.sandbox import Commit, TransactionSpec, WorkspaceMode

_MODE: Final[Parse[WorkspaceMode]] = choice(get_args(WorkspaceMode))


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A workspace's mode, and its transaction where it is one."""

    mode: WorkspaceMode
    transaction: TransactionSpec | None


NO_WORKSPACE: Final = Workspace(mode="none", transaction=None)
"""What a tool has that says nothing of a workspace."""


def decode_workspace(node: Node, what: str, findings: Findings) -> Workspace | None:
    """Decode ``workspace``."""
    if not isinstance(node, Mapping):
        mode = _MODE(node, what, findings)
        return None if mode is None else _workspace(mode, TransactionSpec())
    reader = Reader(node, "sandbox.workspace", findings)
    mode = reader.required("mode", _MODE)
    standard = TransactionSpec()
    commit: Commit = reader.default("commit", choice(get_args(Commit)), standard.commit)
    writes = reader.default("writes", workspace_patterns, standard.writes)
    reader.close()
    for key in ("commit", "writes"):
        if mode not in {None, "transaction"} and (entry := node.entry(key)):
            message = f"'{key}' is about a transaction, and the mode of this workspace is '{mode}'"
            findings.add(codes.BAD_VALUE, message, entry.key_span, f"write mode: transaction, or remove '{key}'")
    return None if mode is None else _workspace(mode, TransactionSpec(commit=commit, writes=writes))


def workspace_patterns(node: Node, what: str, findings: Findings) -> tuple[str, ...] | None:
    """A list of patterns of workspace files, each once, sorted."""
    found = list_of(_pattern)(node, what, findings)
    return None if found is None else tuple(sorted(set(found)))


def _workspace(mode: WorkspaceMode, transaction: TransactionSpec) -> Workspace:
    return Workspace(mode=mode, transaction=transaction if mode == "transaction" else None)


def _pattern(node: Node, what: str, findings: Findings) -> str | None:
    pattern = text(node, what, findings)
    if pattern is None:
        return None
    try:
        return relative_path(pattern)
    except FileError as problem:
        message = str(problem).replace("the spec's folder", "the workspace")
        findings.add(codes.BAD_VALUE, message, node.span, "write it relative to the workspace, e.g. src/**")
        return None
