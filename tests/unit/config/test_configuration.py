"""Tests for the user's configuration: its location, its settings and its errors."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from project.paths import DOCS

from toolc.config.configuration import AuditSettings, ClientSettings, Configuration, Issuer, Scope
from toolc.config.secret_sources import EnvSource
from toolc.config.user_config import configuration_folder, load_configuration, read_private
from toolc.model.errors import UsageError
from toolc.model.spec.sandbox import MIB

ISSUER = "https://login.example.com"


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment whose configuration folder exists and is empty."""
    (tmp_path / "toolc").mkdir()
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def write(home: dict[str, str], text: str, name: str = "config.yaml") -> Path:
    path = configuration_folder(home) / name
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"HOME": "/home/ada"}, "/home/ada/.config/toolc"),
        ({"HOME": "/home/ada", "XDG_CONFIG_HOME": "/etc/ada"}, "/etc/ada/toolc"),
        ({"HOME": "/home/ada", "XDG_CONFIG_HOME": ""}, "/home/ada/.config/toolc"),
        ({"HOME": "/home/ada", "XDG_CONFIG_HOME": "here"}, "/home/ada/.config/toolc"),
        ({}, "/.config/toolc"),
    ],
)
def test_the_folder_of_the_configuration(environment: dict[str, str], folder: str) -> None:
    assert configuration_folder(environment) == Path(folder)


def test_without_a_file_the_defaults_apply(home: dict[str, str]) -> None:
    assert load_configuration(home) == Configuration(
        engine="auto", accept_unenforced=(), workspace_growth_bytes=2048 * MIB
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config.yaml", "engine: oci\naccept_unenforced: [memory, workspace]\nworkspace_growth: 5MiB\n"),
        ("config.toml", 'engine = "oci"\naccept_unenforced = ["memory", "workspace"]\nworkspace_growth = "5MiB"\n'),
    ],
)
def test_all_settings_are_read(home: dict[str, str], name: str, text: str) -> None:
    write(home, text, name)
    assert load_configuration(home) == Configuration(
        engine="oci", accept_unenforced=("memory", "workspace"), workspace_growth_bytes=5 * MIB
    )


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "{}\n"])
def test_an_empty_configuration_is_valid(home: dict[str, str], text: str) -> None:
    write(home, text)
    assert load_configuration(home) == Configuration()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("engine: podman\n", ":1:9: 'engine' must be one of 'auto', 'docker', 'oci', but is the text 'podman'"),
        (
            "accept_unenforced: [memory, swap]\n",
            ":1:29: 'accept_unenforced'[1] must be one of 'timeout', 'memory', 'cpus', 'pids', ",
        ),
        ("accept_unenforced: memory\n", ":1:20: 'accept_unenforced' must be a list, but is the text 'memory'"),
        ("workspace_growth: 2000\n", ":1:19: 'workspace_growth' must be a size such as "),
        ("acept_unenforced: []\n", ":1:1: the configuration has no key 'acept_unenforced'; did you mean"),
        ("- engine\n", ":1:1: the configuration must be a map"),
        ("engine: 'auto\n", ":1:9: this quote is never closed"),
        ("engine: a\nengine: b\n", ":2:1: the key 'engine' is already on line 1; keep one of the two"),
    ],
)
def test_errors_have_a_position(home: dict[str, str], text: str, problem: str) -> None:
    path = write(home, text)
    with pytest.raises(UsageError) as caught:
        load_configuration(home)
    assert str(caught.value).startswith(f"{path}{problem}")


def test_every_error_is_reported(home: dict[str, str]) -> None:
    path = write(home, "engine: x\naccept_unenforced: [y]\n")
    with pytest.raises(UsageError) as caught:
        load_configuration(home)
    assert [line.split(": ")[0] for line in str(caught.value).splitlines()] == [f"{path}:1:9", f"{path}:2:21"]


def test_two_files_are_an_error(home: dict[str, str]) -> None:
    write(home, "", "config.toml")
    path = write(home, "")
    with pytest.raises(UsageError) as caught:
        load_configuration(home)
    assert str(caught.value) == f"both {path} and config.toml exist; keep one of them"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_a_home_folder_without_access_has_no_configuration(home: dict[str, str], tmp_path: Path) -> None:
    write(home, "engine: oci\n")
    tmp_path.chmod(0o700)
    os.seteuid(1234)
    try:
        assert load_configuration(home) == Configuration()
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_can_write_is_rejected(home: dict[str, str], mode: int) -> None:
    path = write(home, "engine: oci\n")
    path.chmod(mode)
    with pytest.raises(UsageError, match="can be written by other users, so they may have changed it; run: chown"):
        load_configuration(home)


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o1777])
def test_a_folder_that_others_can_write_is_rejected(home: dict[str, str], mode: int) -> None:
    folder = write(home, "engine: oci\n").parent
    folder.chmod(mode)
    with pytest.raises(UsageError) as caught:
        load_configuration(home)
    assert str(caught.value) == (
        f"{folder} can be written by other users, so they may have changed it; "
        f"run: chown $USER {folder} && chmod 700 {folder}"
    )


def test_links_are_followed_and_broken_links_are_reported(home: dict[str, str], tmp_path: Path) -> None:
    path = write(home, "engine: oci\n")
    path.rename(tmp_path / "mine.yaml")
    path.symlink_to(tmp_path / "mine.yaml")
    assert load_configuration(home) == Configuration(engine="oci")
    (tmp_path / "mine.yaml").unlink()
    with pytest.raises(UsageError) as caught:
        load_configuration(home)
    assert str(caught.value) == f"{path} cannot be opened (No such file or directory); fix the link, or remove it"


def test_a_pipe_is_rejected_without_waiting(home: dict[str, str]) -> None:
    path = configuration_folder(home) / "config.yaml"
    os.mkfifo(path, 0o600)
    with pytest.raises(UsageError) as caught:
        load_configuration(home)
    assert str(caught.value) == f"{path} is not a regular file; put your configuration into a regular file"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file away")
def test_a_file_of_another_user_is_rejected(home: dict[str, str]) -> None:
    os.chown(write(home, "engine: oci\n"), 1234, 1234)
    with pytest.raises(UsageError, match="can be written by other users"):
        load_configuration(home)


def test_a_file_in_a_repository_is_rejected(
    home: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(home, "accept_unenforced: [memory]\n")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "specs").mkdir()
    monkeypatch.chdir(tmp_path / "specs")
    with pytest.raises(UsageError) as caught:
        load_configuration(home)
    assert str(caught.value) == (
        f"{path} is in the repository {tmp_path}, but your own configuration must be outside of it; "
        "set XDG_CONFIG_HOME to another folder, or leave it unset"
    )
    monkeypatch.chdir("/")
    assert load_configuration(home) == Configuration(accept_unenforced=("memory",))


def test_the_example_of_the_documentation_is_valid(home: dict[str, str]) -> None:
    page = (DOCS / "reference" / "configuration.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    write(home, example)
    assert load_configuration(home) == Configuration(
        engine="auto",
        accept_unenforced=("memory", "cpus"),
        secrets={"GITHUB_TOKEN": EnvSource("GH_TOKEN")},
        base_image="registry.example.com/tools/base:3",
        warm={"word_count": 2},
        clients={"ci": ClientSettings(tags=("search",), rate=600)},
        audit=AuditSettings(),
        issuers={ISSUER: Issuer(url=ISSUER, jwks=f"{ISSUER}/keys.json")},
    )


def test_the_settings_of_the_audit_log_are_read(home: dict[str, str]) -> None:
    write(home, "audit: {folder: /var/log/toolc, arguments: shape, when_full: run, max_file: 1MiB}\n")
    assert load_configuration(home).audit == AuditSettings(
        folder=Path("/var/log/toolc"), arguments="shape", when_full="run", max_file_bytes=2**20
    )
    write(home, "audit: {arguments: all}\n")
    with pytest.raises(UsageError, match=r"audit.arguments is 'all'|'arguments'"):
        load_configuration(home)


def test_a_base_image_must_be_the_name_of_an_image(home: dict[str, str]) -> None:
    write(home, "base_image: https://example.com/base\n")
    with pytest.raises(
        UsageError, match=r"config.yaml:1:13: 'base_image' is not an image name: 'https://example.com/base'"
    ):
        load_configuration(home)


def test_the_programs_of_the_host_are_a_choice_of_the_user(home: dict[str, str]) -> None:
    assert not load_configuration(home).host_programs
    write(home, "host_programs: true\n")
    assert load_configuration(home) == Configuration(host_programs=True)


def test_numbers_of_warm_sandboxes_are_whole_numbers(home: dict[str, str]) -> None:
    write(home, "warm: {a: 0, b: 2}\n")
    assert load_configuration(home).warm == {"a": 0, "b": 2}
    write(home, "warm: {a: -1}\n")
    with pytest.raises(UsageError, match=r"config.yaml:1:11: warm.a must be a whole number from 0 to 1000"):
        load_configuration(home)
    write(home, "warm: 2\n")
    with pytest.raises(UsageError, match=r"config.yaml:1:7: 'warm' must be a map, but is the number 2"):
        load_configuration(home)


def test_clients_have_settings_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, "clients:\n  ci: {workspace: /srv/ci, deny: [network], concurrent: 2, sandboxes: 3}\n")
    settings = read_private(path).clients["ci"]
    assert settings == ClientSettings(workspace=Path("/srv/ci"), deny=("network",), concurrent=2, sandboxes=3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{workspace: here}", "'workspace' is not an absolute path; start it with / or ~"),
        ("{rate: 0}", "'rate' must be a whole number from 1 to"),
        ("{tag: [a]}", "clients.ci has no key 'tag'"),
        ("{secrets: {A: b}}", "secrets.A must be the source of the value"),
    ],
)
def test_wrong_settings_of_a_client_are_reported(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        read_private(written(tmp_path, f"clients:\n  ci: {text}\n"))


def written(folder: Path, text: str) -> Path:
    """Return a private file with this text."""
    path = folder / "clients.yaml"
    path.write_text(text)
    path.chmod(0o600)
    folder.chmod(0o700)
    return path


def test_issuers_and_the_subjects_of_clients_are_read(home: dict[str, str]) -> None:
    text = f"""\
issuers:
  {ISSUER}:
    jwks: https://login.example.com/keys.json
    audience: https://tools.example.com/mcp
    addresses: [10.0.0.5]
    scopes: {{all: {{}}, read: {{tags: [read]}}, review: {{role: reviewer}}}}
clients: {{alice: {{subject: user-1}}, default: {{rate: 10}}}}
"""
    write(home, text)
    found = load_configuration(home)
    scopes = {"all": Scope(), "read": Scope(tags=("read",)), "review": Scope(role="reviewer", tags=())}
    assert found.issuers == {
        ISSUER: Issuer(
            url=ISSUER, jwks=f"{ISSUER}/keys.json", audience="https://tools.example.com/mcp", addresses=("10.0.0.5",),
            scopes=scopes,
        )
    }  # fmt: skip
    assert found.clients["alice"] == ClientSettings(subject="user-1", issuer=ISSUER)
    assert found.clients["default"] == ClientSettings(rate=10)


KEYS = f"{{jwks: {ISSUER}/k}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"issuers: {{login.example.com: {KEYS}}}", "'login.example.com' is not the URL of an issuer"),
        (f"issuers: {{http://login.example.com: {KEYS}}}", "'http://login.example.com' is not the URL of an issuer"),
        (f"issuers: {{{ISSUER}?a=b: {KEYS}}}", "is not the URL of an issuer"),
        (f"issuers: {{{ISSUER}: {{}}}}", f"issuers.{ISSUER} has no 'jwks'"),
        (f"issuers: {{{ISSUER}: {{jwks: http://login.example.com/k}}}}", "'jwks' is not an https URL"),
        (f"issuers: {{{ISSUER}: {{jwks: file:///etc/passwd}}}}", "'jwks' is not an https URL"),
        (f"issuers: {{{ISSUER}: {{jwks: {ISSUER}/k, addresses: [login]}}}}", "is not an IP address"),
        (f"issuers: {{{ISSUER}: {{jwks: {ISSUER}/k, scopes: {{a: {{role: admin}}}}}}}}", "'role' must be one of"),
        ("clients: {a: {subject: x}}", "clients.a has a subject, and no issuer that 'issuers' declares"),
        (f"clients: {{a: {{issuer: {ISSUER}}}}}", "clients.a has an issuer without a subject"),
        (
            f"issuers: {{{ISSUER}: {KEYS}, https://b.example.com: {KEYS}}}\nclients: {{a: {{subject: x}}}}",
            "clients.a has a subject, and no issuer that 'issuers' declares",
        ),
        (
            f"issuers: {{{ISSUER}: {KEYS}}}\nclients: {{a: {{subject: x}}, b: {{subject: x, issuer: {ISSUER}}}}}",
            "clients.b has the subject of clients.a",
        ),
    ],
)
def test_issuers_that_are_not_clear_are_refused(home: dict[str, str], text: str, message: str) -> None:
    write(home, text)
    with pytest.raises(UsageError, match=re.escape(message)):
        load_configuration(home)
