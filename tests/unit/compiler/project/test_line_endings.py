"""Windows line endings are accepted in a spec and reported in files that become part of a tool."""

from pathlib import Path

import pytest
from compiling.compiled import HEAD, compile_text, found_in

CODE = "def hello():\n    return 'hello'\n"


@pytest.mark.parametrize(
    ("name", "text", "backend"),
    [("hello.sh", "echo hello\n", "{shell: {file: hello.sh}}"), ("hello.py", CODE, "{python: {file: hello.py}}")],
)
def test_code_files_are_read_with_line_feeds(tmp_path: Path, name: str, text: str, backend: str) -> None:
    spec = f"{HEAD}backend: {backend}\n"
    (tmp_path / name).write_bytes(text.encode())
    assert found_in(tmp_path, spec) == []
    (tmp_path / name).write_bytes(text.replace("\n", "\r\n").encode())
    path = f"{tmp_path.as_posix()}/{name}"
    column = backend.index(name) + len("backend: ") + 1
    assert found_in(tmp_path, spec) == [
        f"4:{column} TC009 {path} has Windows line endings, which are part of the code that runs"
    ]


def test_a_spec_has_the_same_meaning_with_crlf(tmp_path: Path) -> None:
    spec = f"{HEAD}backend:\n  shell:\n    script: |\n      echo a\n      echo b\n"
    unix = compile_text(tmp_path / "unix", spec)
    windows = compile_text(tmp_path / "windows", spec.replace("\n", "\r\n"))
    assert windows.diagnostics.sorted() == ()
    assert windows.registry() == unix.registry()
