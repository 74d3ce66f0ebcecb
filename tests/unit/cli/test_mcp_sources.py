"""Where ``toolc import mcp`` finds servers: names of packages, and the configurations of clients."""

import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from toolc.cli.mcp_sources import (
    name_of,
    name_of_host,
    package_of,
    secret_headers,
    servers_in,
    with_npm,
    with_pip,
    with_url,
)
from toolc.importers.mcp_spec import McpSource
from toolc.model.errors import InfrastructureError, UsageError
from toolc.model.json_schema import JsonObject


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("mcp-server-time", "time"),
        ("modelcontextprotocol/server-everything", "everything"),
        ("@upstash/context7-mcp", "upstash-context7"),
        ("mcp_server_sqlite", "sqlite"),
        ("mcp", "server"),
        ("firecrawl-mcp", "firecrawl"),
        ("mcpify", "mcpify"),
    ],
)
def test_the_name_of_a_server_is_what_its_package_adds(package: str, name: str) -> None:
    assert name_of(package) == name


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://mcp.example.com/mcp", "example"), ("http://localhost:8000", "localhost"),
        ("https://api.github.example.org/", "github-example"),
        ("http://[::1]:80/", "server"), ("http://10.0.0.1/", "server"),
    ],
)  # fmt: skip
def test_the_name_of_a_server_at_a_url_is_in_its_host(url: str, name: str) -> None:
    assert name_of_host(url) == name


def test_secrets_of_a_server_at_a_url_are_declared_for_the_host_that_receives_them() -> None:
    headers = secret_headers("my notes", {"headers": {"X-API-Key": "sk-123"}})
    assert headers == {"X-API-Key": "{{ secrets.MY_NOTES_X_API_KEY }}"}
    made = with_url(McpSource(name="a", sandbox={}), "https://a.example/mcp", headers, 'bearer: "{{ secrets.TOKEN }}"')
    hosts: JsonObject = {"hosts": ["a.example"]}
    assert made.sandbox == {"secrets": {"MY_NOTES_X_API_KEY": hosts, "TOKEN": hosts}}
    assert made.entry()["auth"] == {"bearer": "{{ secrets.TOKEN }}"}
    oauth2 = 'oauth2: {token_url: "https://b.example/token", client_id: me, client_secret: "{{ secrets.S }}"}'
    made = with_url(McpSource(name="a", sandbox={}), "https://a.example/mcp", headers, oauth2)
    assert made.sandbox == {"secrets": {"MY_NOTES_X_API_KEY": hosts, "S": {"hosts": ["b.example"]}}}


TIME = ("mcp_server_time/__main__.py", "")
SCRIPTS = (
    "a_server-2.0.dist-info/entry_points.txt",
    "[console_scripts]\nother = other:main\na-server = a_server.cli:App.main\n",
)


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that writes a wheel with files, which pip then finds instead of the packages of PyPI."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))

    def write(name: str, version: str, *files: tuple[str, str]) -> None:
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        form = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        own = f"{name}-{version}.dist-info"
        own_files = [(f"{own}/METADATA", about), (f"{own}/WHEEL", form), *files]
        record = "".join(f"{each},,\n" for each, _ in [*own_files, (f"{own}/RECORD", "")])
        with ZipFile(tmp_path / f"{name}-{version}-py3-none-any.whl", "w") as archive:
            for each, text in [*own_files, (f"{own}/RECORD", record)]:
                archive.writestr(each, text)

    return write


def test_further_packages_of_a_server_are_requirements_too(wheels: Callable[..., None]) -> None:
    wheels("mcp_server_time", "2025.9.25", TIME)
    source = McpSource(name="a", command=("--utc",), requirements=("mcp==1.9.4",), sandbox={})
    made = with_pip(source, "mcp-server-time==2025.9.25")
    assert made.requirements == ("mcp-server-time==2025.9.25", "mcp==1.9.4")
    assert made.command == ("python3", "-m", "mcp_server_time", "--utc")


def test_without_a_version_the_newest_is_pinned(wheels: Callable[..., None]) -> None:
    for version in ("1.2", "1.10"):
        wheels("mcp_server_time", version, TIME)
    assert with_pip(McpSource(name="a", sandbox={}), "mcp-server-time[zones]").requirements == (
        "mcp-server-time[zones]==1.10",
    )


@pytest.mark.parametrize(
    ("files", "start"),
    [
        ((("a_server/__main__.py", ""), SCRIPTS), ("-m", "a_server")),
        ((), ("-m", "a_server")),
        ((SCRIPTS,), ("-c", "import sys, a_server.cli; sys.exit(a_server.cli.App.main())")),
        (
            ((SCRIPTS[0], "[console_scripts]\nserve = other:main\n"),),
            ("-c", "import sys, other; sys.exit(other.main())"),
        ),
    ],
    ids=["a module", "neither", "the script of its name", "the only script"],
)
def test_a_package_starts_as_a_module_or_by_its_script(
    files: tuple[tuple[str, str], ...], start: tuple[str, str], wheels: Callable[..., None]
) -> None:
    wheels("a_server", "2.0", *files)
    assert with_pip(McpSource(name="a", sandbox={}), "a-server").command == ("python3", *start)


def test_servers_may_read_markdown_when_they_start_but_not_their_readme(tmp_path: Path) -> None:
    npm = tmp_path / "bin/npm"
    npm.parent.mkdir()
    folder = "node_modules/b"
    npm.write_text(
        f"#!/bin/sh\nmkdir -p {folder}\ntouch {folder}/README.md {folder}/instructions.md\n"
        f"""echo '{{}}' >package-lock.json\necho '{{"bin": "b.js"}}' >{folder}/package.json\n""",
        encoding="utf-8",
    )
    npm.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{npm.parent}:{os.environ['PATH']}")
        with_npm(McpSource(name="b", sandbox={}), "b@1.0.0", tmp_path)
    with tarfile.open(tmp_path / "b-image/packages-1.tgz") as archive:
        assert [Path(each).name for each in archive.getnames()] == ["b", "instructions.md", "package.json"]


def test_a_package_that_does_not_exist_is_an_error(wheels: Callable[..., None]) -> None:
    with pytest.raises(UsageError, match="nowhere==1 could not be installed: ERROR: "):
        with_pip(McpSource(name="a", sandbox={}), "nowhere==1")


@pytest.mark.parametrize(
    "package", ["{}", "git+https://example.com/a", "file://{}", "a @ file://{}", "--editable", "a>=1"]
)
def test_code_of_a_package_from_elsewhere_does_not_run_on_this_host(package: str, tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("from pathlib import Path\nPath(__file__).with_name('ran').touch()\n")
    for install in (with_pip, lambda source, name: with_npm(source, name, tmp_path)):
        with pytest.raises(UsageError, match="is not a package of PyPI or npm"):
            install(McpSource(name="a", sandbox={}), package.format(tmp_path))
    assert not (tmp_path / "ran").exists()


def test_an_installation_ends_after_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "npm").write_text("#!/bin/sh\nexec sleep 1000\n", encoding="utf-8")
    (tmp_path / "npm").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("toolc.cli.mcp_sources._SECONDS", 0.01)
    with pytest.raises(UsageError, match=r"b@1 could not be installed within 0\.01 seconds"):
        with_npm(McpSource(name="b", sandbox={}), "b@1", tmp_path)


def test_a_missing_pip_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(InfrastructureError, match=r"needs pip, which this Python does not have; run: .* -m ensurepip$"):
        with_pip(McpSource(name="a", sandbox={}), "a-server")


@pytest.mark.parametrize("auth", ["[", "- a", "token"])
def test_auth_that_is_not_a_map_is_an_error(auth: str) -> None:
    with pytest.raises(UsageError, match="--auth must be a map in YAML"):
        with_url(McpSource(name="a", sandbox={}), "https://a.example/mcp", {}, auth)


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {"time": {"command": "uvx"}}}',
        '{\n  // of the team\n  "servers": {"time": {"command": "uvx",},},\n  "inputs": []\n}',
    ],
)
def test_configurations_of_clients_are_read_with_comments(text: str) -> None:
    assert [*servers_in(text)] == [("time", {"command": "uvx"})]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it has no MCP servers"),
        ('{"servers": {}}', "it has no MCP servers"),
    ],
)
def test_a_file_without_servers_is_an_error(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        [*servers_in(text)]


@pytest.mark.parametrize(
    ("command", "arguments", "expected"),
    [
        ("npx", ["-y", "@a/server-b@1.2.3", "/data"], ("npm", "@a/server-b@1.2.3", ["/data"])),
        ("/usr/bin/npx", ["b@latest"], ("npm", "b", [])),
        ("uvx", ["mcp-server-time"], ("pip", "mcp-server-time", [])),
        ("uvx", ["mcp-server-time@2.0", "--x"], ("pip", "mcp-server-time==2.0", ["--x"])),
        ("uvx", ["mcp-server-time==2.0"], ("pip", "mcp-server-time==2.0", [])),
    ],
)
def test_lines_of_npx_and_uvx_name_a_package(
    command: str, arguments: list[str], expected: tuple[str, str, list[str]]
) -> None:
    assert package_of({"command": command, "args": [*arguments]}) == expected


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"type": "stdio"}, "it has neither a command nor a URL"),
        ({"type": "sse", "url": "https://a.example/sse"}, "it speaks HTTP\\+SSE of 2024, which is not supported"),
        ({"command": "node", "args": ["a.js"]}, "it runs node; import it with --image or --build"),
        ({"command": "npx", "args": ["-p", "a", "b"]}, "the option -p of npx is not supported"),
        ({"command": "npx"}, "it runs npx without a package"),
    ],
)
def test_other_servers_are_left_out_with_the_reason(entry: JsonObject, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        package_of(entry)
