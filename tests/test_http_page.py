"""``docs/http.md`` and ``docs/secrets.md``: their specs compile, and their commands print what they say."""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path

import pytest
from scripted_server import Asked, ScriptedServer, json_reply, reply
from test_readme import environment

from toolc.api import Registry
from toolc.guest.http_error import STATUS_KINDS
from toolc.guest.http_request import MAX_BODY
from toolc.schema import JsonValue
from toolc.secret_sources import MIN_CHARACTERS

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {name: (DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("http", "secrets")}


def placed(page: str, folder: Path, **changes: str) -> Path:
    """The page's spec, in its file."""
    block = next(each for each in re.findall(r"```yaml\n(.*?)```", PAGES[page], re.DOTALL) if "specs/" in each)
    name, _, text = str(block).partition("\n")
    for old, new in changes.items():
        text = text.replace(old.replace("port_", ""), new)
    path = folder / name.removeprefix("# ")
    path.parent.mkdir()
    path.write_text(text)
    return path


def steps(page: str) -> list[tuple[str, str]]:
    (block,) = re.findall(r"```console\n(.*?)```", PAGES[page], re.DOTALL)
    found = [each.partition("\n") for each in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    return [(command, expected) for command, _, expected in found]


def check(page: str, folder: Path) -> None:
    exports = ""
    for command, expected in steps(page):
        if command.startswith("export "):
            exports = f"{command}; "
            continue
        done = subprocess.run(
            ["bash", "-c", exports + command],
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if "exit code" in command else subprocess.DEVNULL,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.stdout.rstrip("\n") == expected.rstrip("\n"), command


@pytest.mark.parametrize("page", PAGES)
def test_a_pages_spec_has_no_finding(page: str, tmp_path: Path) -> None:
    assert Registry.load(placed(page, tmp_path)).diagnostics.sorted() == ()


@pytest.mark.slow
@pytest.mark.needs_engine
def test_the_commands_about_http_print_what_the_page_says(tmp_path: Path) -> None:
    def orders(asked: Asked, connection: socket.socket) -> None:
        if asked.headers["authorization"] != "Bearer correct-horse-battery":
            connection.sendall(reply(status=401))
        elif asked.path.endswith("?page=2"):
            connection.sendall(json_reply([{"id": "o-3", "total": 8.25}]))
        else:
            first: list[JsonValue] = [{"id": "o-1", "total": 12.5}, {"id": "o-2", "total": 3}]
            connection.sendall(json_reply(first, Link='</customers/C-17/orders?page=2>; rel="next"'))

    with ScriptedServer({"/customers/C-17/orders": orders}) as server:
        placed("http", tmp_path, port_8765=str(server.port))
        check("http", tmp_path)
        assert server.asked[-1].path == "/customers/C%2F99/orders?per_page=2"


@pytest.mark.slow
@pytest.mark.needs_engine
def test_the_commands_about_secrets_print_what_the_page_says(tmp_path: Path) -> None:
    placed("secrets", tmp_path)
    check("secrets", tmp_path)


def test_the_pages_figures_are_so() -> None:
    assert f"at most {MAX_BODY >> 20} MiB" in PAGES["http"]
    assert f"fewer than {MIN_CHARACTERS} characters" in PAGES["secrets"]
    table = dict(re.findall(r"^\| ([0-9, ]+)[^|]*\| `(\w+)`", PAGES["http"], re.MULTILINE))
    listed = {int(status): kind for statuses, kind in table.items() for status in re.findall(r"[0-9]{3}", statuses)}
    told = {status: kind for status, kind in STATUS_KINDS.items() if status not in {407, 408, 425}}
    assert listed == told
