"""Decode limits that depend on each other, and folders of images."""

from pathlib import Path

import pytest
from compiled import ECHO, HEAD, compile_text, found_in

TMP_DEFAULT, MEMORY_DEFAULT = "64MiB", "256MiB"


@pytest.mark.parametrize(
    "limits", ["memory: 80MiB", "tmp: 240MiB", "tmp: 100MiB, memory: 116MiB", "tmp: 1KiB, memory: 16385KiB"]
)
def test_memory_that_holds_tmp_and_16_mib_is_enough(limits: str, tmp_path: Path) -> None:
    assert not compile_text(tmp_path, f"{HEAD}{ECHO}sandbox: {{limits: {{{limits}}}}}\n").diagnostics.sorted()


@pytest.mark.parametrize(
    ("limits", "sizes", "at", "remedy"),
    [
        ("memory: 81919KiB", (TMP_DEFAULT, "81919KiB"), "memory: ", "memory: 80MiB or more, or tmp: 65535KiB or less"),
        ("tmp: 241MiB", ("241MiB", MEMORY_DEFAULT), "tmp: ", "memory: 257MiB or more, or tmp: 240MiB or less"),
        ("memory: 1GiB, tmp: 2GiB", ("2GiB", "1GiB"), "tmp: ", "memory: 2064MiB or more, or tmp: 1008MiB or less"),
        ("memory: 16385KiB", (TMP_DEFAULT, "16385KiB"), "memory: ", "memory: 80MiB or more, or tmp: 1KiB or less"),
        ("memory: 16MiB", (TMP_DEFAULT, "16MiB"), "memory: ", "memory: 80MiB"),  # no size of /tmp fits
    ],
)
def test_memory_that_does_not_hold_tmp_and_16_mib_is_reported(
    limits: str, sizes: tuple[str, str], at: str, remedy: str, tmp_path: Path
) -> None:
    text = f"{HEAD}{ECHO}sandbox: {{limits: {{{limits}}}}}\n"
    (found,) = compile_text(tmp_path, text).diagnostics.sorted()
    tmp, memory = sizes
    assert found.code.number == "TC507"
    assert found.message == f"'tmp' ({tmp}) must be at least 16MiB less than 'memory' ({memory})"
    assert found.hint == f"files in /tmp count as memory; write {remedy}"
    assert text.splitlines()[found.span.start.line - 1][: found.span.start.column - 1].endswith(at)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        ("../up", "'../up' leads outside the spec's folder"), ("/etc", "'/etc' is not a relative path"),
        ("missing", "no file matches 'missing/**/*' in "), ("empty", "there is no Dockerfile in "),
    ],
)  # fmt: skip
def test_a_folder_without_a_recipe_is_reported(build: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "a.txt").write_text("a", encoding="utf-8")
    (found,) = found_in(tmp_path, f"{HEAD}{ECHO}sandbox: {{build: {build}}}\n")
    assert found.startswith(f"5:18 TC111 {message}")
