"""Which files a build with ``--client`` writes, and their first line."""

from pathlib import Path

import pytest
from calls import typed_tools

from toolc.client.typed.generate import LANGUAGES, ClientFile, client_text, parse_clients, write_clients
from toolc.model.errors import UsageError
from toolc.model.registry_io import surfaces_digest

TOOLS = typed_tools.registered(typed_tools.constructs())


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_first_line_has_the_digest_of_the_registry(language: str) -> None:
    first, *others = client_text(TOOLS, language).splitlines()
    digest = surfaces_digest({tool.spec.name: tool.surface_digest for tool in TOOLS})
    assert first == f"{'//' if language == 'typescript' else '#'} toolc client for the registry {digest}"
    assert any(digest in line for line in others)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_client_without_tools_is_a_module(language: str) -> None:
    assert "Tools" in client_text([], language)


@pytest.mark.parametrize("value", ["python", "python:", "java:a", ":a", ""])
def test_another_form_is_refused(value: str) -> None:
    with pytest.raises(UsageError, match="write it as LANGUAGE:PATH; the languages are python, pydantic, typescript"):
        parse_clients([value])


def test_a_path_may_have_a_colon() -> None:
    assert parse_clients(["python:a:b.py"]) == [ClientFile("python", Path("a:b.py"))]


def test_two_clients_have_different_paths() -> None:
    with pytest.raises(UsageError, match=r"^--client typescript:\./z\.py: another client has the same path"):
        parse_clients(["python:z.py", "typescript:./z.py"])


def test_a_client_is_written_again_only_if_it_differs(tmp_path: Path) -> None:
    client = ClientFile("python", tmp_path / "new" / "client.py")
    write_clients([client], TOOLS, tmp_path / "build")
    first = client.path.stat()
    write_clients([client], TOOLS, tmp_path / "build")
    again = client.path.stat()
    assert (again.st_ino, again.st_mtime_ns) == (first.st_ino, first.st_mtime_ns)
    write_clients([client], TOOLS[1:], tmp_path / "build")
    assert client.path.read_text(encoding="utf-8") == client_text(TOOLS[1:], "python")
    assert [*client.path.parent.iterdir()] == [client.path]


def test_another_file_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "client.py"
    path.write_text("# my own program\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"client\.py is not a client that toolc wrote; remove it"):
        write_clients([ClientFile("python", path)], TOOLS, tmp_path / "build")
    assert path.read_text(encoding="utf-8") == "# my own program\n"


def test_a_client_in_the_folder_of_the_build_is_refused(tmp_path: Path) -> None:
    client = ClientFile("python", tmp_path / "build" / "client.py")
    with pytest.raises(UsageError, match="which each build replaces; choose another path"):
        write_clients([client], TOOLS, tmp_path / "build")


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot write .*client\.py: "):
        write_clients([ClientFile("python", tmp_path / "file" / "client.py")], TOOLS, tmp_path / "build")
