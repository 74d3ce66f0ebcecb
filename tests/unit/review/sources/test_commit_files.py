"""Files next to a spec in commits: changes are reported, and nothing outside is written."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from cli.diff_command import diff
from reviews.repositories import Repository
from reviews.reviewing import PLAIN, change_lines

from toolc.review.compare import compare
from toolc.review.sources.states import two_states

SHELL: Final = 'shell:\n    argv: [echo, --, "{{ name }}"]'
PYTHON: Final = PLAIN.replace(SHELL, "python: {file: look.py, files: ['lib/*.py']}")
BUILT: Final = PLAIN + "sandbox: {build: image}\n"
SCRIPTED: Final = PLAIN.replace(SHELL, "shell: {file: look.sh}")
CODE: Final = "def look(name):\n    return name\n"
FILES: Final = {
    "specs/python.yaml": PYTHON, "specs/look.py": CODE, "specs/lib/a.py": "A = 1\n",
    "specs/built.yaml": BUILT.replace("name: look", "name: built"), "specs/image/Dockerfile": "FROM x\n",
    "specs/shell.yaml": SCRIPTED.replace("name: look", "name: shell"), "specs/look.sh": 'echo "$ARG_name"\n',
}  # fmt: skip


@pytest.fixture
def repository(repository: Repository) -> Repository:
    repository.commit(FILES)
    return repository


def last_changes() -> list[str]:
    """Return the changes of the last commit."""
    with two_states("HEAD~1", "HEAD", [Path()]) as (old, new):
        return [f"{tool.name}: {line}" for tool in compare(old, new).tools for line in change_lines(tool.changes)]


CHANGES: Final[dict[str, tuple[dict[str, str], list[str]]]] = {
    "the file that runs": (
        {"specs/look.py": "def look(name):\n    return open(name)\n"},
        ["look: RSK07 high: the program look.py changed"],
    ),
    "a file of a pattern": ({"specs/lib/a.py": "A = 2\n"}, ["look: RSK07 high: the program lib/a.py changed"]),
    "one more file of a pattern": ({"specs/lib/b.py": "B = 2\n"}, ["look: RSK07 high: the program lib/b.py was added"]),
    "the recipe of an image": (
        {"specs/image/Dockerfile": "FROM y\n"},
        ["built: RSK03 high: the file Dockerfile of the image changed"],
    ),
    "one more file of an image": (
        {"specs/image/deep/x.sh": "true\n"},
        ["built: RSK03 high: the file deep/x.sh of the image was added"],
    ),
    "a script": ({"specs/look.sh": "rm -rf .\n"}, ["shell: RSK07 high: the program script changed"]),
    "a file that nothing names": ({"specs/other.py": "x\n", "README.md": "x\n"}, []),
}


@pytest.mark.parametrize(("files", "expected"), CHANGES.values(), ids=CHANGES)
def test_changed_file_is_reported_for_its_tool(
    repository: Repository, files: dict[str, str], expected: list[str]
) -> None:
    repository.commit(files)
    assert last_changes() == expected


SPELLINGS: Final = {
    "in quotes": "'python': {\"file\": 'look.py'}",
    "a letter as a number": 'python: {"fi\\x6ce": look.py}',
    "a letter as a longer number": 'python: {"fil\\u0065": look.py}',
    "a question mark": "python:\n    ? file\n    : look.py",
    "the key is an alias": "python: {*key : look.py}",
    "the value is an alias": "python: {file: *place}",
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_changed_file_is_reported_in_any_syntax(repository: Repository, spelling: str) -> None:
    anchors = "owner: &key file\ntags: [&place look.py]\n" * ("*" in spelling)
    repository.commit({"specs/python.yaml": anchors + PLAIN.replace(SHELL, spelling)})
    repository.commit({"specs/look.py": "def look(name):\n    return open(name)\n"})
    assert last_changes() == ["look: RSK07 high: the program look.py changed"]


def test_changed_file_of_project_defaults_is_reported(repository: Repository) -> None:
    bare = "\n".join(PLAIN.replace("name: look", "name: bare").splitlines()[:6]) + "\n"
    defaults = "defaults: {backend: {python: {file: look.py, function: look}}}\n"
    repository.commit({"more/toolc.yaml": defaults, "more/bare.yaml": bare, "more/look.py": CODE})
    repository.commit({"more/look.py": "def look(name):\n    return open(name)\n"})
    assert last_changes() == ["bare: RSK07 high: the program look.py changed"]


LINKS: Final[dict[str, Callable[[Path], str]]] = {
    "an absolute path": str,
    "a way out": lambda secret: "../../../../../../../.." + str(secret),
}


@pytest.mark.slow
@pytest.mark.parametrize("target", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize("place", ["specs/look.py", "specs/lib/a.py", "specs/image/Dockerfile", "specs/look.sh"])
def test_link_of_an_untrusted_commit(
    repository: Repository, tmp_path: Path, place: str, target: Callable[[Path], str]
) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("def look(name):\n    return 'my-secret'\n", encoding="utf-8")
    link = repository.top / place
    link.unlink()
    link.symlink_to(target(secret))
    repository.git("add", "--all")
    repository.git("commit", "-q", "-m", "a link")
    for arguments in (["HEAD~1", "HEAD"], ["HEAD", "HEAD~1"], ["HEAD~1"]):
        found = diff(*arguments)
        assert "my-secret" not in found.stdout + found.stderr
        assert found.exit_code in {0, 1}


def test_file_replaced_by_a_link(repository: Repository) -> None:
    repository.commit({"specs/lib/b.py": "def look(name):\n    return open(name)\n"})
    (repository.top / "specs/look.py").unlink()
    (repository.top / "specs/look.py").symlink_to("lib/b.py")
    repository.git("add", "--all")
    repository.git("commit", "-q", "-m", "a link")
    found = diff("HEAD~1", "HEAD")
    assert found.exit_code == 1 or "the program look.py changed" in found.stdout


def test_manipulated_tree_does_not_write_through_links(repository: Repository, tmp_path: Path) -> None:
    """A tree with a link and a folder of the same name. Git's tools refuse it, but a clone may have it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    blob = repository.git("hash-object", "-w", "--stdin", stdin=b"owned")
    link = repository.git("hash-object", "-w", "--stdin", stdin=str(outside).encode())
    spec = repository.git("hash-object", "-w", "--stdin", stdin=PYTHON.encode())
    folder = repository.git("mktree", stdin=f"100644 blob {blob}\tfile\n".encode())
    entries = b"".join(
        f"{mode} {name}\0".encode() + bytes.fromhex(known)
        for mode, name, known in (
            ("120000", "lib", link), ("40000", "lib", folder), ("120000", "x.py", link),
            ("100644", "x.py", blob), ("100644", "a.yaml", spec),
        )
    )  # fmt: skip
    tree = repository.git("hash-object", "-w", "--literally", "-t", "tree", "--stdin", stdin=entries)
    found = diff(tree, "HEAD")
    assert [*outside.iterdir()] == []
    assert found.exit_code in {0, 2}
    assert "bug" not in found.stderr
