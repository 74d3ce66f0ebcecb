"""A workspace that is sent to a node: what travels, what comes back, and what the driver commits."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from toolc.client.registry import Registry
from toolc.cluster import workspace_copy
from toolc.cluster.workspace_copy import NodeCopies, WorkspaceCopy, copied
from toolc.model.call import ApproveChanges
from toolc.model.errors import UsageError
from toolc.model.result import Text, ToolResult
from toolc.model.spec.tool import ToolSpec
from toolc.runtime.workspace.mount import WorkspaceFolder

RESULT = ToolResult(content=(Text("done"),))


def spec(folder: Path, sandbox: str) -> ToolSpec:
    path = folder / "edit.yaml"
    path.write_text(
        "toolc: 1\nname: edit\ndescription: Edit files, for the tests of clusters only.\n"
        f"backend: {{shell: {{argv: [edit]}}}}\nsandbox: {{{sandbox}}}\n"
    )
    return Registry.load(path).registered("edit").spec


class Example:
    """A workspace of the driver, and a node."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        self.node = NodeCopies()
        (self.workspace / "src" / "old").mkdir(parents=True)
        for name in ("a.txt", "src/b.txt", "src/old/c.txt"):
            (self.workspace / name).write_text(name)
        (self.workspace / "run.sh").write_text("echo hi")
        (self.workspace / "run.sh").chmod(0o750)
        (self.workspace / "link").symlink_to("src/b.txt")
        self.sent = 0

    @contextmanager
    def on_node(self, sandbox: str, key: str = "k") -> Iterator[tuple[WorkspaceCopy, Path]]:
        """Yield the copy of the driver, and the folder on the node."""
        with copied(spec(self.folder, sandbox), "c1", WorkspaceFolder.of(self.workspace)) as copy:
            for message in copy.messages(self.node.expect(key, copy.files)):
                self.sent += len(message)
                self.node.store(message)
            self.node.make(key)
            yield copy, Path(self.node.folder(key))
            self.node.end(key)

    def finish(self, copy: WorkspaceCopy, approve: ApproveChanges | None = None) -> ToolResult:
        return copy.finish(RESULT, self.node.changes("k"), approve)


SUCCESS = "workspace: {mode: transaction, commit: success}"


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Example]:
    example = Example(tmp_path)
    yield example
    example.node.close()


def listing(folder: Path) -> dict[str, tuple[int, str]]:
    def content(path: Path) -> str:
        return str(path.readlink()) if path.is_symlink() else "" if path.is_dir() else path.read_text()

    paths = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): (path.lstat().st_mode, content(path)) for path in paths}


def test_a_node_has_an_equal_copy_and_gets_each_content_once(example: Example) -> None:
    with example.on_node(SUCCESS) as (_, there):
        assert listing(there) == listing(example.workspace)
        assert there.stat().st_mode == example.workspace.stat().st_mode
    assert example.sent == 4
    (example.workspace / "d.txt").write_text("new")
    (example.workspace / "copy.txt").write_text("a.txt")
    with example.on_node("workspace: ro") as (_, there):
        assert listing(there) == listing(example.workspace)
    assert example.sent == 5
    assert not there.exists()


def test_changes_are_committed_where_the_program_runs(example: Example) -> None:
    with example.on_node(SUCCESS) as (copy, there):
        (there / "a.txt").write_text("changed")
        (there / "run.sh").chmod(0o640)
        (there / "src" / "old" / "c.txt").unlink()
        (there / "src" / "old").rmdir()
        (there / "src" / "old").write_text("a file where a folder was")
        (there / "link").unlink()
        (there / "link").mkdir()
        (there / "link" / "inner").write_text("a folder where a link was")
        after = listing(there)
        result = example.finish(copy)
    assert listing(example.workspace) == after
    assert not result.is_error
    changes = result.details["changes"]
    assert isinstance(changes, dict)
    assert changes["committed"] is True


def test_a_file_that_others_changed_in_the_meantime_is_a_conflict(example: Example) -> None:
    with example.on_node(SUCCESS) as (copy, there):
        (there / "a.txt").write_text("by the tool")
        (example.workspace / "a.txt").write_text("by an editor")
        result = example.finish(copy)
    assert result.error is not None
    assert result.error.kind == "conflict"
    assert (example.workspace / "a.txt").read_text() == "by an editor"


def test_changes_that_the_spec_forbids_or_the_user_refuses_are_not_committed(example: Example) -> None:
    before = listing(example.workspace)
    with example.on_node("workspace: {mode: transaction, commit: success, writes: ['src/**']}") as (copy, there):
        (there / "a.txt").write_text("changed")
        assert "these changes are not allowed" in example.finish(copy).text
    with example.on_node("workspace: {mode: transaction, commit: ask}") as (copy, there):
        (there / "a.txt").write_text("changed")
        assert "the changes were not approved" in example.finish(copy, lambda _: False).text
    assert listing(example.workspace) == before


@pytest.mark.parametrize(
    ("sandbox", "reason"),
    [("workspace: rw", "workspace: rw"), ("workspace: ro, lifetime: session", "lifetime: session")],
)
def test_a_tool_that_needs_the_folder_itself_is_refused(example: Example, sandbox: str, reason: str) -> None:
    with pytest.raises(UsageError, match=rf"{reason}.*shared_workspace"), example.on_node(sandbox):
        pass


def test_sizes_above_the_limit_are_refused_with_what_to_do(example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_copy, "MAX_BYTES", 100)
    with example.on_node(SUCCESS) as (_, there):
        (there / "large").write_bytes(bytes(101))
        with pytest.raises(UsageError, match="so the workspace is unchanged: the call changes more than 100B"):
            example.node.changes("k")
    (example.workspace / "large").write_bytes(bytes(101))
    with pytest.raises(UsageError, match="it has more than 100B; use a smaller folder"), example.on_node(SUCCESS):
        pass


def test_contents_that_no_call_needs_are_removed_when_there_are_too_many(
    example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    with example.on_node(SUCCESS):
        pass
    monkeypatch.setattr(workspace_copy, "STORED_BYTES", 1)
    (example.workspace / "a.txt").unlink()
    with example.on_node(SUCCESS):
        pass
    (example.workspace / "a.txt").write_text("a.txt")
    with example.on_node(SUCCESS):
        pass
    assert example.sent == 5
