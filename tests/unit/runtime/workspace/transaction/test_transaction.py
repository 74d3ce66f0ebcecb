import hashlib
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from calls.scripted_tools import execute, registered
from workspaces.edited_workspace import AFTER, BEFORE, edit, scratches, workspace
from workspaces.transaction_cases import DONE, FAILED, call, changes_of, doing, paths, tool, tree

from toolc.model.call import Proposal, ToolCall
from toolc.model.errors import InfrastructureError
from toolc.model.result import Outcome
from toolc.model.spec.sandbox import Commit, SecretSpec
from toolc.runtime.sandboxed.options import CallOptions
from toolc.runtime.workspace.mount import WorkspaceFolder
from toolc.runtime.workspace.transaction import diff, transaction
from toolc.sandbox.selection import EngineSelection

__all__ = ["workspace"]


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_changes_are_reported_and_committed(workspace: Path) -> None:
    result = call(doing(edit), tool(), workspace)
    assert not result.is_error
    assert tree(workspace) == AFTER
    assert changes_of(result) == {
        "added": [
            {"path": "c", "kind": "file", "size_bytes": 2, "mode": "0750", "digest": digest(b"c\n")},
            {"path": "e", "kind": "directory", "size_bytes": 0, "mode": "0755", "digest": None},
            {"path": "e/deep", "kind": "directory", "size_bytes": 0, "mode": "0755", "digest": None},
            {"path": "link", "kind": "symlink", "size_bytes": 0, "mode": "0777", "digest": None},
        ],
        "changed": [{"path": "a", "kind": "file", "size_bytes": 4, "mode": "0644", "digest": digest(b"new\n")}],
        "deleted": [
            {"path": "b", "kind": "file"},
            {"path": "d/sub", "kind": "directory"},
            {"path": "d/sub/y", "kind": "file"},
        ],
        "total": 8,
        "truncated": False,
        "committed": True,
        "view": "copy",
        "view_note": "the fake engine mounts no folders",
    }
    assert (workspace / "c").stat().st_mode & 0o7777 == 0o750
    assert {(workspace / name).lstat().st_uid for name in AFTER} == {workspace.stat().st_uid}


def test_the_view_and_the_staging_folder_are_removed(workspace: Path) -> None:
    before = set(Path("/proc/self/fd").iterdir())
    call(doing(edit), tool(), workspace)
    assert list(workspace.glob(".toolc*")) == []
    assert scratches() == []
    # The janitor's pipe stays open.
    assert len(set(Path("/proc/self/fd").iterdir()) - before) <= 1


@pytest.mark.parametrize(
    ("commit", "outcome", "committed", "kind"),
    [
        ("always", DONE, True, None), ("always", FAILED, True, "exit_status"),
        ("always", Outcome(ending="timed_out"), True, "timeout"), ("success", DONE, True, None),
        ("success", FAILED, False, "exit_status"),
        ("success", Outcome(ending="out_of_memory"), False, "out_of_memory"), ("never", DONE, False, None),
        ("ask", DONE, False, "denied"), ("ask", FAILED, False, "exit_status"),
    ],
)  # fmt: skip
def test_commit_modes_decide_about_the_commit(
    workspace: Path, commit: Commit, outcome: Outcome, committed: bool, kind: str | None
) -> None:
    result = call(doing(edit, outcome), tool(commit=commit), workspace)
    assert tree(workspace) == (AFTER if committed else BEFORE)
    assert changes_of(result)["committed"] is committed
    assert (result.error.kind if result.error else None) == kind


def test_the_result_says_that_changes_were_discarded(workspace: Path) -> None:
    assert call(doing(edit), tool(commit="ask"), workspace).text == (
        "done\n\nthe workspace is unchanged: the spec has 'commit: ask', and no user or function could be asked"
    )
    assert call(doing(edit), tool(commit="never"), workspace).text == "done\n"


@pytest.mark.parametrize("is_approved", [True, False])
def test_the_approver_decides_about_the_changes(workspace: Path, is_approved: bool) -> None:
    proposals: list[Proposal] = []

    def approve(proposal: Proposal) -> bool:
        proposals.append(proposal)
        assert tree(workspace) == BEFORE
        return is_approved

    result = call(doing(edit), tool(commit="ask"), workspace, approve)
    (proposal,) = proposals
    assert (proposal.tool, proposal.call_id, proposal.workspace) == ("edit", "c", str(workspace))
    assert [(change.action, change.path) for change in proposal.changes][:3] == [
        ("changed", "a"), ("deleted", "b"), ("added", "c"),
    ]  # fmt: skip
    assert tree(workspace) == (AFTER if is_approved else BEFORE)
    assert result.is_error is not is_approved


@pytest.mark.parametrize("path", ["a", "b", "c", "d/sub/y", "d/sub"])
def test_a_change_during_the_approval_is_not_overwritten(workspace: Path, path: str) -> None:
    def approve(_: Proposal) -> bool:
        if path == "d/sub":
            (workspace / path).chmod(0o700)
        else:
            (workspace / path).unlink(missing_ok=True)
            (workspace / path).write_text("theirs\n")
        before.append(tree(workspace))
        return True

    before: list[dict[str, str]] = []
    result = call(doing(edit), tool(commit="ask"), workspace, approve)
    assert f"- {path}: it was changed by another process while the tool ran" in result.text
    assert tree(workspace) == before[0]


def test_no_approval_is_requested_without_changes_or_for_refused_changes(workspace: Path) -> None:
    def approve(_: Proposal) -> bool:
        raise AssertionError("approval requested")

    nothing = call(doing(lambda view: (view / "a").write_text("a\n")), tool(commit="ask"), workspace, approve)
    assert (nothing.is_error, changes_of(nothing)["reason"], changes_of(nothing)["total"]) == (
        False,
        "nothing was changed",
        0,
    )
    refused = call(doing(lambda view: (view / ".envrc").write_text("x")), tool(commit="ask"), workspace, approve)
    assert refused.is_error


def test_one_refused_change_discards_all_changes(workspace: Path) -> None:
    def act(view: Path) -> None:
        (view / "a").write_text("new\n")
        (view / "out.txt").write_text("x")
        (view / ".git" / "hooks").mkdir(parents=True)
        (view / ".git" / "hooks" / "pre-commit").write_text("evil")

    result = call(doing(act), tool(writes=("a", "**")), workspace)
    assert tree(workspace) == BEFORE
    assert result.error is not None
    assert result.error.kind == "denied"
    assert result.error.message.splitlines() == [
        "the workspace is unchanged: these changes are not allowed:",
        "- .git: .git is protected, because programs outside of the sandbox act on it",
        "- .git/hooks: .git is protected, because programs outside of the sandbox act on it",
        "- .git/hooks/pre-commit: .git is protected, because programs outside of the sandbox act on it",
    ]


def test_paths_that_no_pattern_of_writes_matches_are_refused(workspace: Path) -> None:
    result = call(doing(edit), tool(writes=("d/**", "c", "link", "e/**")), workspace)
    assert tree(workspace) == BEFORE
    assert (
        "- a: no pattern of 'writes' in the spec matches it\n- b: no pattern of 'writes' in the spec matches it"
        in result.text
    )


def test_files_folders_and_links_replace_each_other(workspace: Path) -> None:
    def act(view: Path) -> None:
        (view / "a").unlink()
        (view / "a").mkdir()
        (view / "a" / "in").write_text("in\n")
        (view / "d" / "sub" / "y").unlink()
        (view / "d" / "sub").rmdir()
        (view / "d" / "sub").write_text("file\n")
        (view / "b").unlink()
        (view / "b").symlink_to("a")

    result = call(doing(act), tool(), workspace)
    assert not result.is_error, result.text
    assert tree(workspace) == {
        "a": "folder", "a/in": "in\n", "b": "-> a", "d": "folder", "d/sub": "file\n", "d/x": "x\n",
    }  # fmt: skip
    assert paths(result) == {
        "added": ["a", "a/in", "d/sub"], "changed": ["b"], "deleted": ["a", "d/sub", "d/sub/y"],
    }  # fmt: skip


def test_permissions_are_a_change_and_times_are_not(workspace: Path) -> None:
    def act(view: Path) -> None:
        (view / "a").chmod(0o755)
        (view / "d").chmod(0o700)
        os.utime(view / "b", (1, 1))

    result = call(doing(act), tool(), workspace)
    assert paths(result) == {"added": [], "changed": ["a", "d"], "deleted": []}
    assert ((workspace / "a").stat().st_mode & 0o7777, (workspace / "d").stat().st_mode & 0o7777) == (0o755, 0o700)


def test_set_id_bits_are_removed(workspace: Path) -> None:
    def act(view: Path) -> None:
        (view / "suid").write_text("x")
        (view / "suid").chmod(0o6755)

    assert not call(doing(act), tool(), workspace).is_error
    assert (workspace / "suid").stat().st_mode & 0o7777 == 0o755


def test_a_link_that_leads_out_is_refused(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")

    def act(view: Path) -> None:
        (view / "a").unlink()
        (view / "a").symlink_to(tmp_path / "secret")
        (view / "up").symlink_to("../secret")

    result = call(doing(act), tool(), workspace)
    assert result.text.count("it is a symbolic link that may lead out of the workspace") == 2
    assert tree(workspace) == BEFORE


def test_fifos_and_sockets_are_refused_without_blocking(workspace: Path) -> None:
    def act(view: Path) -> None:
        os.mkfifo(view / "fifo")
        folder = os.open(view, os.O_RDONLY)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"/proc/self/fd/{folder}/socket")
        os.close(folder)

    result = call(doing(act), tool(), workspace)
    assert "- fifo: it is a fifo, a socket or a device\n- socket: it is a fifo, a socket or a device" in result.text


def test_a_hard_link_to_another_file_is_replaced(workspace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("theirs\n")
    os.link(outside, workspace / "hard")
    assert not call(doing(lambda view: (view / "hard").write_text("mine\n")), tool(), workspace).is_error
    assert ((workspace / "hard").read_text(), outside.read_text()) == ("mine\n", "theirs\n")


@pytest.mark.parametrize("name", [b"a b", b"line\nfeed", b"quo'te\"", b"co:lon,com\\ma", "ü€".encode(), b"\xff\xfe"])
def test_any_file_name_is_committed(workspace: Path, name: bytes) -> None:
    def act(view: Path) -> None:
        (view / os.fsdecode(name)).mkdir()
        (view / os.fsdecode(name) / os.fsdecode(name)).write_text("x")

    result = call(doing(act), tool(), workspace)
    assert not result.is_error
    path = name.decode("utf-8", "backslashreplace")
    assert paths(result)["added"] == [path, f"{path}/{path}"]
    assert (workspace / os.fsdecode(name) / os.fsdecode(name)).exists()


def test_too_many_or_too_large_changes_are_refused(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "MAX_ENTRIES", 3)
    result = call(doing(edit), tool(), workspace)
    assert "the workspace is unchanged: the call changes more than 3 files, or 1GiB" in result.text
    monkeypatch.setattr(diff, "MAX_ENTRIES", 1000)
    monkeypatch.setattr(diff, "MAX_BYTES", 3)
    assert "the call writes a file of 4 bytes" in call(doing(edit), tool(), workspace).text
    assert tree(workspace) == BEFORE


def test_a_workspace_that_is_too_large_to_copy_is_an_error(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "MAX_BYTES", 7)
    with pytest.raises(InfrastructureError) as raised:
        call(doing(edit), tool(), workspace)
    assert str(raised.value) == (
        f"the workspace {workspace} cannot be used in a transaction, because neither an overlay (the fake engine "
        "mounts no folders) nor a copy (it has more than 7B) is possible; use a smaller folder, or set workspace: rw "
        "in the spec"
    )


def test_errors_about_files_are_redacted(workspace: Path) -> None:
    def refuse(proposal: Proposal) -> bool:
        raise InfrastructureError(f"approval is not possible for {proposal.changes[0].display_path}")

    spec = tool(commit="ask")
    spec = replace(spec, sandbox=replace(spec.sandbox, secrets=(SecretSpec(name="KEY", expose="env"),)))
    options = CallOptions(
        select_engine=lambda _: EngineSelection(doing(lambda view: (view / "correct-horse").touch())),
        workspace=WorkspaceFolder.of(workspace),
        approve_changes=refuse,
        reveal=lambda names: dict.fromkeys(names, "correct-horse"),
    )
    with pytest.raises(InfrastructureError) as raised:
        execute(registered(spec), ToolCall(name=spec.name, arguments={}, call_id="c"), options)
    assert str(raised.value) == "approval is not possible for [secret KEY]"


def test_a_workspace_that_was_moved_gets_the_changes(workspace: Path) -> None:
    moved = workspace.with_name("moved")

    def act(view: Path) -> None:
        edit(view)
        workspace.rename(moved)
        workspace.mkdir()

    assert not call(doing(act), tool(), workspace).is_error
    assert (tree(moved), tree(workspace)) == (AFTER, {})


@pytest.mark.slow
def test_a_deep_tree_that_cannot_be_entered_is_removed_with_the_view(workspace: Path) -> None:
    def act(view: Path) -> None:
        folder = os.open(view, os.O_RDONLY)
        for _ in range(3000):
            os.mkdir("deep", dir_fd=folder)
            below = os.open("deep", os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = below
        os.fchmod(folder, 0)
        os.close(folder)

    result = call(doing(act), tool(), workspace)
    assert "there are more than 100 levels of folders" in result.text
    assert tree(workspace) == BEFORE
    assert scratches() == []
