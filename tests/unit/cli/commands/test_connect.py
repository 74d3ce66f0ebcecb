"""``toolc connect`` with the files of nine clients: what it writes, keeps, refuses and takes back."""

import json
import os
import stat
import sysconfig
from pathlib import Path

import click
import pytest
from cli.command_line import toolc
from project.paths import DATA, GOLDEN

from toolc.cli.output.prompts import Prompts
from toolc.model.json_schema import JsonObject
from toolc.serve.mcp_clients import McpClient, mcp_clients

CLIENTS = [*mcp_clients().values()]
SPEC = """\
toolc: 1
name: count_words
description: Count the words of a file in the workspace. Use it for text files only.
parameters: {path: {type: string, maxLength: 99, description: The path of the file.}}
backend: {shell: {argv: [wc, -w, --, "{{ path }}"]}}
sandbox: {workspace: ro}
"""
BROKEN = {"json": '{"mcpServers": {', "toml": "model = \n", "yaml": "extensions: [\n"}


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder: a repository with a spec, of a user whose home is next to it."""
    folder = tmp_path / "project"
    for path in (folder / ".git", folder / "specs", tmp_path / "home", tmp_path / "bin"):
        path.mkdir(parents=True)
    (folder / "specs" / "count_words.yaml").write_text(SPEC, encoding="utf-8")
    (tmp_path / "bin" / "toolc").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path / "bin"))
    monkeypatch.chdir(folder)
    return folder


def example(client: McpClient) -> bytes:
    return (DATA / "connect" / f"{client.name}.{client.format}").read_bytes()


def write_example(client: McpClient, project: Path) -> Path:
    path = client.file(project)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(example(client))
    path.chmod(0o640)
    return path


def connect(*arguments: str) -> str:
    """Connect without a question, and return what the user reads."""
    result = toolc("connect", *arguments, "--yes")
    assert (result.exit_code, result.stdout) == (0, ""), result.stderr
    return result.stderr


def refusal(*arguments: str) -> str:
    result = toolc("connect", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_an_entry_joins_the_others_and_can_be_taken_back(client: McpClient, project: Path, golden: bool) -> None:
    path = write_example(client, project)
    connect(client.name, "specs")
    text = path.read_bytes().decode().replace(str(project.parent), "/home/ada")
    expected = GOLDEN / "connect" / f"{client.name}.{client.format}"
    if golden:
        expected.write_bytes(text.encode())
    assert text == expected.read_bytes().decode()
    backup = path.with_name(f"{path.name}.toolc-backup")
    assert backup.read_bytes() == example(client)
    assert {stat.S_IMODE(each.stat().st_mode) for each in (path, backup)} == {0o640}
    connected = path.read_bytes()
    assert "already has this entry for toolc; nothing to do" in connect(client.name, "specs")
    assert (path.read_bytes(), backup.read_bytes()) == (connected, example(client))
    connect(client.name, "--remove")
    assert (path.read_bytes(), backup.exists()) == (example(client), False)
    assert "has no entry toolc; nothing to do" in connect(client.name, "--remove")


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_without_a_file_one_is_created_with_what_would_be_printed(client: McpClient, project: Path) -> None:
    path = client.file(project)
    printed = toolc("connect", client.name, "specs")
    assert (printed.exit_code, path.exists()) == (0, False)
    assert f"nothing was written; the entry belongs in {path}" in printed.stderr
    connect(client.name, "specs")
    assert path.read_text(encoding="utf-8") == printed.stdout
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    connect(client.name, "--remove")
    assert [*path.parent.glob(f"{path.name}*")] == []


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_what_changed_since_stays_when_the_entry_is_removed(client: McpClient, project: Path) -> None:
    path = write_example(client, project)
    connect(client.name, "specs", "--name", "other")
    connect(client.name, "specs")
    before = {"other", *client.place("").entries(example(client).decode())}
    comments = {line for line in path.read_text(encoding="utf-8").splitlines() if "//" in line or "# " in line}
    connect(client.name, "--remove", "--name", "other")
    text = path.read_text(encoding="utf-8")
    assert {*client.place("").entries(text)} == (before - {"other"}) | {"toolc"}
    assert comments <= {*text.splitlines()}


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_file_that_cannot_be_parsed_is_refused_and_kept(client: McpClient, project: Path) -> None:
    path = write_example(client, project)
    path.write_text(BROKEN[client.format], encoding="utf-8")
    for arguments in (["specs", "--yes"], ["--remove", "--yes"]):
        message = refusal(client.name, *arguments)
        assert f"cannot edit {path}: it is not valid {client.format.upper()}" in message
        assert "it was not changed" in message
    assert [each.name for each in path.parent.glob(f"{path.name}*")] == [path.name]
    assert path.read_text(encoding="utf-8") == BROKEN[client.format]


@pytest.mark.parametrize("client", [each for each in CLIENTS if each.http], ids=lambda client: client.name)
def test_a_url_replaces_the_command_and_keeps_the_keys_of_the_user(client: McpClient, project: Path) -> None:
    path, place = client.file(project), client.place("toolc")

    def entry() -> JsonObject:
        found = place.entries(path.read_text(encoding="utf-8"))["toolc"]
        assert isinstance(found, dict)
        return found

    connect(client.name, "specs")
    path.write_text(place.edited("", {**entry(), "timeout": 7, "env": {"A": "b"}}), encoding="utf-8")
    connect(client.name, "--http", "localhost:9000")
    changed = entry()
    assert "http://localhost:9000/mcp" in changed.values()
    assert (changed["timeout"], changed["env"]) == (7, {"A": "b"})
    assert not changed.keys() & (client.stdio.keys() - (client.http or {}).keys())
    connect(client.name, "--remove")
    assert place.entries(path.read_text(encoding="utf-8")) == {}


def test_the_client_gets_absolute_paths_and_the_options_of_serve(project: Path) -> None:
    (project / "secrets").write_text("", encoding="utf-8")
    assert toolc("lock", "specs").exit_code == 0
    options = [
        "--toolset",
        "words",
        "--deny",
        "count_words",
        "--locked",
        "--secrets",
        "secrets",
        "--workspace",
        "specs",
    ]
    printed = toolc("connect", "cursor", "./specs", *options).stdout
    assert json.loads(printed)["mcpServers"]["toolc"]["args"] == [
        "serve", f"{project}/specs", "--toolset", "words", "--deny", "count_words", "--workspace", f"{project}/specs",
        "--secrets", f"{project}/secrets", "--lock", f"{project}/toolc.lock",
    ]  # fmt: skip


def test_flags_and_times_are_written_as_serve_reads_them(project: Path) -> None:
    options = ["--search", "--direct", "count_words", "--task-threshold", "1m", "--workspace", "."]
    options += ["--confirm", "refuse"]  # the only option for HTTP that a server over stdio follows too
    printed = toolc("connect", "cursor", "specs", *options).stdout
    assert json.loads(printed)["mcpServers"]["toolc"]["args"] == [
        "serve", f"{project}/specs", "--workspace", str(project), "--search", "--direct", "count_words",
        "--task-threshold", "60.0s", "--confirm", "refuse",
    ]  # fmt: skip


def test_the_workspace_is_the_repository_if_a_tool_needs_one(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "specs")
    printed = toolc("connect", "claude-code", "count_words.yaml")
    arguments = json.loads(printed.stdout)["mcpServers"]["toolc"]["args"]
    assert arguments == ["serve", f"{project}/specs/count_words.yaml", "--workspace", str(project)]
    assert f"the workspace is {project}" in printed.stderr
    assert f"the entry belongs in {project}/.mcp.json" in printed.stderr
    Path("other.yaml").write_text(SPEC.replace("workspace: ro", "workspace: none"), encoding="utf-8")
    without = toolc("connect", "claude-code", "other.yaml")
    assert json.loads(without.stdout)["mcpServers"]["toolc"]["args"] == ["serve", f"{project}/specs/other.yaml"]


def test_python_does_not_import_from_the_folder_of_the_client(project: Path) -> None:
    (project.parent / "bin" / "toolc").unlink()
    entry = json.loads(toolc("connect", "cursor", "specs").stdout)["mcpServers"]["toolc"]
    assert entry["args"][:3] == ["-P", "-m", "toolc"]


@pytest.mark.parametrize("answer", [True, False])
def test_on_a_terminal_the_user_sees_the_change_and_decides(
    answer: bool, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_example(mcp_clients()["vscode"], project)
    monkeypatch.setattr(Prompts, "is_available", True)
    monkeypatch.setattr(click, "confirm", lambda *_, **__: answer)
    result = toolc("connect", "vscode", "specs")
    assert result.exit_code == (0 if answer else 1)
    assert '+\t\t"toolc": {' in result.stderr
    assert (path.read_bytes() != example(mcp_clients()["vscode"])) is answer
    assert toolc("connect", "vscode", "specs", "--print").stdout.startswith("{")


def test_the_difference_hides_credentials_of_other_servers(project: Path) -> None:
    secret = "ghp_" + "aB3dEfGh1jKlMnOpQrStUvWxYz0123456789"
    text = json.dumps({"mcpServers": {"github": {"env": {"GITHUB_TOKEN": secret}}}}, indent=2)
    (project / ".mcp.json").write_text(text, encoding="utf-8")
    connect("claude-code", "specs")
    shown = toolc("connect", "claude-code", "--remove").stdout
    assert "GITHUB_TOKEN" in shown
    assert secret not in shown
    assert secret in (project / ".mcp.json").read_text(encoding="utf-8")


def test_a_link_is_followed_to_a_file_of_this_user_only(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, link = project.parent / "dotfiles.json", project / ".mcp.json"
    link.symlink_to(target)
    assert f"cannot read {link}: No such file or directory" in refusal("claude-code", "specs", "--yes")
    target.write_text("{}", encoding="utf-8")
    connect("claude-code", "specs")
    assert link.is_symlink()
    connected = target.read_text(encoding="utf-8")
    assert "toolc" in connected
    monkeypatch.setattr(os, "geteuid", lambda: target.stat().st_uid + 1)
    assert (
        f"cannot edit {link}: it is not a regular file of this user"
        in toolc("connect", "claude-code", "--remove", "--yes").stderr
    )
    assert target.read_text(encoding="utf-8") == connected


def test_a_folder_and_bytes_that_are_not_text_are_refused(project: Path) -> None:
    (project / "folder").mkdir()
    (project / "latin").write_bytes(b'{"\xe9": 1}')
    assert "it is not a regular file of this user" in refusal("cursor", "specs", "--yes", "--file", "folder")
    assert "it is not UTF-8" in refusal("cursor", "specs", "--yes", "--file", "latin")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "TARGET is missing"),
        (["missing.yaml"], "missing.yaml"),
        (["specs", "--nonsense"], "--nonsense"),
        (["specs", "--drain", "3s"], "--drain cannot be used for a server that an MCP client starts"),
        (["specs", "--confirm", "api"], "--confirm cannot be used for a server that an MCP client starts"),
        (["specs", "--plugin", "x"], "--plugin cannot be used for a server that an MCP client starts"),
        (["specs", "--locked"], "--locked: there is no toolc.lock here"),
        (["specs", "--workspace", "/"], "/"),
        (["specs", "--direct", "count_words"], "--direct needs --search"),
        (["specs", "--deny", "typo"], "--deny 'typo' is neither the name nor a tag of a tool"),
        (["specs", "--search", "--direct", "typo"], "--direct 'typo' is neither the name nor a tag of a tool"),
        (["specs", "--name", "a b"], "--name 'a b' is not the name of a server"),
        (["specs", "--token-variable", "TOKEN"], "--token-variable needs --http"),
        (["specs", "--remove"], "--remove takes no TARGET or options of serve; remove specs"),
        (["specs", "--http=localhost"], "--http takes no TARGET or options of serve; remove specs"),
        (["specs", "--toolset", "$HOME"], "the client may replace the $ in the command"),
        (
            ["--http", "https://ada:secret@example.com"],
            "is not the URL of a server; write e.g. http://127.0.0.1:8000/mcp",
        ),
        (["--http", "--token-variable", "toolc_aBcD"], "--token-variable must be the name of a variable in capitals"),
    ],
)
def test_an_entry_that_could_not_work_is_refused(arguments: list[str], message: str) -> None:
    assert message in refusal("cursor", *arguments)


def test_servers_elsewhere_need_a_token_that_is_not_in_the_file() -> None:
    local = toolc("connect", "claude-code", "--http")
    assert json.loads(local.stdout)["mcpServers"]["toolc"] == {"type": "http", "url": "http://127.0.0.1:8000/mcp"}
    remote = toolc("connect", "claude-code", "--http", "http://tools.example.com/base/")
    assert json.loads(remote.stdout)["mcpServers"]["toolc"] == {
        "type": "http", "url": "http://tools.example.com/base", "headers": {"Authorization": "Bearer ${TOOLC_TOKEN}"}
    }  # fmt: skip
    assert "set TOOLC_TOKEN to a token from: toolc token create NAME" in remote.stderr
    assert "others on the network can read the token" in remote.stderr
    assert "others in the network" not in toolc("connect", "codex", "--http", "https://tools.example.com").stderr
