"""What ``/proc/self/mountinfo`` of a call shows of toolc and of the host: only the path of the workspace."""

import os
import re
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from configurations import ALL_CONFIGURATIONS

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.secret_sources import LiteralSource, SecretStore
from toolc.config.user_config import Configuration
from toolc.model.json_schema import JsonValue
from toolc.runtime.workspace.transaction import transaction
from toolc.sandbox.base import Engine
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.host.owner import Owner

SPEC = """\
toolc: 1
name: mounts
description: Return the mounts of the sandbox. Use it to see what a tool can see of the host.
parameters: {{}}
backend:
  python:
    function: mounts
    requirements: [{requirements}]
    code: |
      def mounts():
          return open("/proc/self/mountinfo").read()
sandbox: {sandbox}
"""

NETWORK = 'network: {allow: ["api.example.com:443"]}'
TRANSACTION = f"{{workspace: {{mode: transaction, commit: never}}, {NETWORK}}}"
KINDS = {
    "network": f"{{{NETWORK}}}",
    "secret": "{secrets: {TOKEN: {expose: file}}}",
    "workspace": f"{{workspace: rw, {NETWORK}}}",
    "transaction": TRANSACTION,
    "copy": TRANSACTION,
    "packages": f"{{{NETWORK}}}",
}
NAMES = [
    "oci root",
    "oci user",
    "docker",
    "docker+gvisor",
    pytest.param("docker 26", marks=pytest.mark.integrations),
    pytest.param("podman", marks=pytest.mark.integrations),
]


@dataclass(frozen=True, slots=True)
class Shown:
    """The mount points and sources of the mounts in a sandbox, and words that no source may contain."""

    sources: dict[str, str]
    words: tuple[str, ...]

    def revealing(self) -> dict[str, str]:
        return {point: source for point, source in self.sources.items() if any(word in source for word in self.words)}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that an ordinary user can enter, whose path does not contain toolc's name."""
    with tempfile.TemporaryDirectory(prefix="mounts-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


def shown(name: str, kind: str, folder: Path) -> Shown:
    """Return the mounts in a call of this kind, with a workspace of an ordinary user."""
    workspace = folder / "ws"
    workspace.mkdir()
    os.chown(workspace, 1234, 1234)
    requirements = "shown-package==1.0" if kind == "packages" else ""
    spec = SPEC.format(sandbox=KINDS[kind], requirements=requirements)
    (folder / "mounts.yaml").write_text(spec, encoding="utf-8")
    registry = Registry.load(folder / "mounts.yaml")
    configuration = ALL_CONFIGURATIONS[name]
    if reason := configuration.lacks():
        pytest.skip(reason)

    def work(engine: Engine) -> JsonValue:
        with Executor(
            registry,
            engine=engine,
            configuration=Configuration(),
            workspace=workspace,
            secrets=SecretStore({"TOKEN": LiteralSource("v" * 20)}, {}),
            pool=None,
        ) as executor:
            text = executor.run("mounts", {}).text
        assert " /tool " in text, text
        return [
            text,
            [
                Owner.current().label(),
                f"/{os.getpid()}/",
                str(Path.home()) if os.geteuid() else "toolc",
                *_home(engine),
            ],
        ]

    text, words = cast("tuple[str, tuple[str, ...]]", configuration.run(work))
    *private, daemon = words
    fields = [(*line.partition(" - ")[0].split(" ")[3:5], line.partition(" - ")[2]) for line in text.splitlines()]
    sources = {point: f"{root} {source}".replace(daemon, "DAEMON") for root, point, source in fields}
    # The daemon's control groups may be in any group of the host.
    shown = {point: source for point, source in sources.items() if not point.startswith("/sys/fs/cgroup/")}
    return Shown(shown, ("toolc", *private))


def _home(engine: Engine) -> list[str]:
    """Return the folder of the daemon, whose own files are visible in containers."""
    if not isinstance(engine, DockerEngine):
        return ["no daemon"]
    found = engine._connect().client.call("GET", "/info", timeout=60)
    assert isinstance(found, dict)
    return [str(Path(str(found["DockerRootDir"])).parent)]


@pytest.fixture
def packages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder with one wheel the only package index."""
    info = "shown_package-1.0.dist-info"
    with zipfile.ZipFile(folder / "shown_package-1.0-py3-none-any.whl", "w") as file:
        for path, text in (
            ("shown_package.py", ""),
            (f"{info}/METADATA", "Metadata-Version: 2.1\nName: shown-package\nVersion: 1.0\n"),
            (f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
            (f"{info}/RECORD", ""),
        ):
            file.writestr(path, text)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_the_mounts_of_a_sandbox_show_only_the_workspace(
    name: str, kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "copy":
        monkeypatch.setattr(transaction, "LOCAL", frozenset())
    found = shown(name, kind, folder)
    revealing = found.revealing()
    if name == "podman" and kind == "packages":
        # Documented: Podman shows the folder of the packages.
        assert [*revealing] == ["/opt/toolc/site"]
    else:
        assert revealing == {}
    named = [point for point, source in found.sources.items() if folder.name in source]
    if kind == "workspace":
        assert named == ["/workspace"]
    elif name != "oci user" or kind != "transaction":
        assert named == []


@pytest.mark.parametrize("name", ["oci root", "docker", pytest.param("podman", marks=pytest.mark.integrations)])
def test_a_copy_has_a_folder_with_a_random_name(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(transaction, "LOCAL", frozenset())
    source = shown(name, "copy", folder).sources["/workspace"]
    path = source.partition(" ")[0]
    assert re.search(r"/[0-9a-f]{16}/workspace$", path), source
    assert not Path("/var/tmp", path.rpartition("/")[0].rpartition("/")[2]).exists()
