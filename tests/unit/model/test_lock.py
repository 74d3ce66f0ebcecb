"""``toolc.lock`` is read strictly and written reproducibly; only listed tools are approved."""

from dataclasses import replace
from pathlib import Path

import pytest

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.model.lock_file import HEADER, Lock, LockedTool, LockError, changed_tools, lock_tools
from toolc.model.plan import Profile
from toolc.model.registry import RegisteredTool
from toolc.model.result import Capture, Outcome
from toolc.testing.fake_engine import FakeEngine

A, B, C = (f"sha256:{letter * 64}" for letter in "abc")
LINE = f"look surface={A} effect={B}"
SPEC = """\
toolc: 1
tools:
  - name: one
    description: A tool that exists for the tests of the lock file and for nothing else.
    backend: {shell: {argv: [echo, one]}}
  - name: two
    description: Another tool that exists for the tests of the lock file and for nothing more.
    backend: {shell: {argv: [echo, two]}}
    sandbox: {image: "example/two:1"}
"""


def parse(*lines: str) -> Lock:
    return Lock.parse("".join(f"{line}\n" for line in lines), "toolc.lock")


def registry(folder: Path, text: str = SPEC) -> Registry:
    (folder / "specs.yaml").write_text(text, encoding="utf-8")
    return Registry.load(folder / "specs.yaml")


def tools(folder: Path, text: str = SPEC) -> list[RegisteredTool]:
    found = registry(folder, text)
    return [found.registered(name) for name in found.names]


def approving(folder: Path) -> Lock:
    return lock_tools(tools(folder), lambda tool: (C if tool.spec.sandbox.image else None, ()), "toolc.lock")


def test_a_lock_file_round_trips() -> None:
    packages = (f"numpy==2.1.0@{A}", f"six==1.16.0@{B}")
    lock = Lock(
        "toolc.lock",
        {
            "look": LockedTool(name="look", surface=A, effect=B),
            "draw": LockedTool(name="draw", surface=B, effect=C, image=A, packages=packages),
        },
    )
    assert lock.text() == (
        f"{HEADER}\nbase=any\n"
        f"draw surface={B} effect={C} image={A} package=numpy==2.1.0@{A} package=six==1.16.0@{B}\n{LINE}\n"
    )
    assert Lock.parse(lock.text(), "toolc.lock") == lock
    assert Lock.parse("\ufeff" + lock.text().replace("\n", "\r\n"), "toolc.lock") == lock
    pinned = replace(lock, base=C)
    assert pinned.text().startswith(f"{HEADER}\nbase={C}\ndraw ")
    assert Lock.parse(pinned.text(), "toolc.lock") == pinned
    assert Lock.parse(lock.text().replace("base=any\n", ""), "toolc.lock") == lock, "as an older toolc wrote it"
    assert lock.tools["draw"].requirements == (f"numpy==2.1.0 --hash={A}", f"six==1.16.0 --hash={B}")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((), "toolc.lock:1: this is not a lock file"),
        ((LINE,), "toolc.lock:1: this is not a lock file"),
        (("# toolc.lock 2: later",), "toolc.lock:1: the file has format 2, but this toolc reads format 1"),
        ((HEADER, "<<<<<<< HEAD", LINE), "toolc.lock:2: this is a merge conflict"),
        ((HEADER, LINE, "=======", LINE), "toolc.lock:3: this is a merge conflict"),
        ((HEADER, LINE, LINE), "toolc.lock:3: the tool look is listed twice"),
        ((HEADER, f"look surface={A}"), "toolc.lock:2: expected the name of a tool, its surface, its effect"),
        ((HEADER, f"1look surface={A} effect={B}"), "toolc.lock:2: expected the name of a tool"),
        ((HEADER, f"{LINE} image={A} image={B}"), "toolc.lock:2: expected the name of a tool"),
        ((HEADER, f"{LINE} colour=red"), "toolc.lock:2: 'colour=red' is not valid here"),
        ((HEADER, f"{LINE} image=latest"), "toolc.lock:2: 'image=latest' is not valid here"),
        ((HEADER, f"{LINE} package=six@{A}"), "is not valid here"),
        ((HEADER, f"{LINE} package=--index-url==1@{A}"), "is not valid here"),
    ],
)
def test_errors_in_a_lock_file_have_a_position(lines: tuple[str, ...], words: str) -> None:
    with pytest.raises(LockError) as raised:
        parse(*lines)
    assert words in str(raised.value)


def test_comments_and_empty_lines_are_ignored() -> None:
    assert parse(HEADER, "", "# why", LINE) == parse(HEADER, LINE)


def test_unchanged_tools_have_no_differences(tmp_path: Path) -> None:
    assert [*changed_tools(approving(tmp_path), tools(tmp_path))] == []


def test_changed_renamed_and_removed_tools_are_reported(tmp_path: Path) -> None:
    lock = approving(tmp_path)
    changed = SPEC.replace("argv: [echo, one]", "argv: [cat, one]").replace("name: two", "name: zwei")
    lines = [*changed_tools(lock, tools(tmp_path, changed))]
    assert len(lines) == 3
    assert "not the one that toolc.lock approves: its effect (what a call does) has the digest sha256:" in lines[0]
    assert lines[1].startswith(
        "toolc.lock does not approve the tool zwei; it has the same effect as the approved tool two; review"
    )
    assert lines[2] == "toolc.lock approves the tool two, which does not exist; if it was removed, run: toolc lock"


def test_another_tool_of_a_plugin_is_not_a_renamed_tool(tmp_path: Path) -> None:
    plugin = SPEC.replace("shell: {argv: [echo, one]}", "plugin: {command: [notes-server]}").replace(
        "shell: {argv: [echo, two]}", "plugin: {command: [notes-server]}"
    )
    lock = lock_tools(tools(tmp_path, plugin), lambda _: (B, ()), "toolc.lock")
    lines = [*changed_tools(lock, tools(tmp_path, plugin.replace("name: two", "name: zwei")))]
    assert lines[0].startswith("toolc.lock does not approve the tool zwei; review the changes")


def test_a_changed_description_is_not_approved(tmp_path: Path) -> None:
    (line,) = changed_tools(
        approving(tmp_path), tools(tmp_path, SPEC.replace("A tool that exists", "A new tool that exists"))
    )
    assert (
        "the tool one is not the one that toolc.lock approves: its surface (what a model sees) has the digest" in line
    )


def test_an_image_and_packages_must_be_approved_too(tmp_path: Path) -> None:
    lock = lock_tools(tools(tmp_path), lambda _: (None, ()), "toolc.lock")
    assert [*changed_tools(lock, tools(tmp_path))] == ["toolc.lock approves no image for two; run: toolc lock"]


def test_an_executor_with_a_lock_calls_only_approved_tools(tmp_path: Path) -> None:
    found, lock = registry(tmp_path), approving(tmp_path)
    engine = FakeEngine(lambda _: Outcome(ending="exited", stdout=Capture(head=b"hi", total_bytes=2)))
    with Executor(found, engine=engine, lock=lock) as executor:
        assert not executor.run("one", {}).is_error
        with pytest.raises(LockError, match=r"the image example/two:1 of two is not the one that toolc\.lock"):
            executor.run("two", {})
    image = engine.content_digests(Profile(image="example/two:1")).image
    assert image is not None
    right = replace(lock.tools["two"], image=image.digest)
    with Executor(found, engine=engine, lock=Lock("toolc.lock", {**lock.tools, "two": right})) as executor:
        assert not executor.run("two", {}).is_error
    executor = Executor(found, engine=engine, lock=parse(HEADER, LINE))
    with executor, pytest.raises(LockError, match=r"toolc\.lock does not approve the tool one"):
        executor.run("one", {})
    assert len(engine.profiles) == 2


def test_a_lock_file_without_an_end_is_not_read() -> None:
    with pytest.raises(LockError, match=r"/dev/zero is larger than 64MiB; write it again with: toolc lock"):
        Lock.read(Path("/dev/zero"))
