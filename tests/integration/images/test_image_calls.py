"""Tools with an image, on each engine: any image works, and the details name it."""

from __future__ import annotations

import base64
import hashlib
import os
import textwrap
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from engines.configurations import available
from engines.image_cases import archive, busybox, in_docker, needs_busybox, one_program, remove, usable
from engines.waiting_sandboxes import is_busy, until

from toolc.client.executor import Executor
from toolc.client.registry import Registry
from toolc.config.configuration import Configuration
from toolc.model.errors import InfrastructureError
from toolc.model.json_schema import JsonObject
from toolc.model.lock_file import Lock, LockError, lock_tools
from toolc.model.plan import Profile
from toolc.model.result import Text, ToolResult
from toolc.sandbox import selection
from toolc.sandbox.docker.base_image import load_base, optional_client
from toolc.sandbox.docker.image_builder import list_images
from toolc.sandbox.docker.sdk import save_archive
from toolc.sandbox.images import unpacked
from toolc.sandbox.images.archive import open_archive
from toolc.sandbox.images.stored import base_tag, find_base
from toolc.sandbox.interface import Engine, ImageUsed
from toolc.sandbox.oci import images as oci_images
from toolc.sandbox.python import interpreter
from toolc.sandbox.selection import load

Test = TypeVar("Test", bound=Callable[..., None])

BUSYBOX = f"toolc-test/busybox:{os.getpid()}"
ONE = f"toolc-test/one:{os.getpid()}"

ENGINES = pytest.mark.parametrize("engine", ["docker", "oci"])


def with_images(test: Test) -> Test:
    """Decorate a test that runs on both engines, with the images."""
    decorated: Test = ENGINES(needs_busybox(pytest.mark.usefixtures("images")(test)))
    return decorated


def shell(argv: str, sandbox: str, more: str = "") -> str:
    """Return a spec of a shell tool without its first lines."""
    return f"backend: {{shell: {{argv: {argv}{more}}}}}\nsandbox: {{{sandbox}}}\n"


ANY_EXIT = ", success_exit_codes: any"


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Load both images into the daemon and unpack the same archives."""
    folder = tmp_path_factory.mktemp("images")
    first = archive(folder / "busybox.tar", BUSYBOX, busybox())
    second = archive(folder / "one.tar", ONE, one_program())
    for name, file in ((BUSYBOX, first), (ONE, second)):
        unpacked.import_archive(name, file)
    if not load("docker").probe().available:
        yield folder
        return
    with in_docker(first, BUSYBOX), in_docker(second, ONE):
        yield folder


@pytest.fixture(autouse=True)
def _fresh_engines() -> Iterator[None]:
    """Forget cached names, which refer to other images in each test."""
    yield
    for name in list(selection._LOADED.engines):
        selection._LOADED.engines.pop(name).close()


def call(
    folder: Path, engine: str, spec: str, arguments: JsonObject | None = None, workspace: Path | None = None
) -> ToolResult:
    """Return the result of the tool of a spec (without its first lines) on an engine."""
    usable(engine)
    with Executor(registry_of(folder, spec), engine=engine, workspace=workspace) as executor:
        return executor.run("tool", arguments or {})


def registry_of(folder: Path, spec: str) -> Registry:
    """Return the tool of a spec without its first lines."""
    file = folder / "tool.yaml"
    head = "toolc: 1\nname: tool\ndescription: A tool of this test.\n"
    file.write_text(head + textwrap.dedent(spec), encoding="utf-8")
    return Registry.load(file)


def text(result: ToolResult) -> str:
    """Return the text of a result without an error."""
    assert not result.is_error, result
    return "".join(block.text for block in result.content if isinstance(block, Text))


@pytest.mark.integrations
@with_images
def test_a_shell_tool_does_not_see_the_portable_python(engine: str, tmp_path: Path) -> None:
    argv = '[sh, -c, "env; echo; ls /; cat /proc/self/maps | wc -l; ls /usr /lib"]'
    result = call(tmp_path, engine, shell(argv, f'image: "{BUSYBOX}"', ANY_EXIT))
    environment, _, rest = text(result).partition("\n\n")
    names = {line.partition("=")[0] for line in environment.splitlines()}
    assert names <= {"PATH", "HOME", "LOGNAME", "USER", "LANG", "TOOLC_CALL_ID", "SHLVL", "PWD", "OLDPWD"}
    assert ".toolc" not in environment
    assert "usr" not in rest.split()
    assert "ls: /usr: No such file or directory" in rest


@with_images
def test_an_image_may_have_one_static_program(engine: str, tmp_path: Path) -> None:
    assert text(call(tmp_path, engine, shell("[/echo, hello]", f'image: "{ONE}"'))) == "hello\n"


@with_images
def test_a_python_tool_runs_in_an_image_without_python(engine: str, tmp_path: Path) -> None:
    result = call(
        tmp_path,
        engine,
        f"""
        backend:
          python:
            function: run
            code: |
              import ctypes, hashlib, json, sqlite3, ssl, subprocess, sys
              def run():
                  said = subprocess.run(["echo", "hello"], capture_output=True, text=True, env={{}}).stdout
                  again = [sys.executable, "-I", "-c", "import ssl; print(2)"]
                  said += subprocess.run(again, capture_output=True, text=True, env={{}}).stdout
                  return [sys.prefix, said, sqlite3.connect(":memory:").execute("select 1").fetchone()[0]]
        sandbox: {{image: "{BUSYBOX}"}}
    """,
    )
    assert result.structured == (["/.toolc", "hello\n2\n", 1],)


@with_images
def test_the_portable_python_is_read_only(engine: str, tmp_path: Path) -> None:
    script = "touch /.toolc/x; touch /.toolc/lib/x; touch /x; echo done"
    result = call(tmp_path, engine, shell(f'[sh, -c, "{script}"]', f'image: "{BUSYBOX}"', ANY_EXIT))
    assert text(result).startswith("done\n")
    assert str(result.details["stderr"]).count("Read-only file system") == 3


@with_images
def test_a_volume_of_the_image_is_a_limited_tmpfs(engine: str, tmp_path: Path) -> None:
    spec = shell('[sh, -c, "echo 1 > /data/x && cat /data/x"]', f'image: "{BUSYBOX}"')
    assert text(call(tmp_path, engine, spec)) == "1\n"


@needs_busybox
@pytest.mark.usefixtures("images")
def test_both_engines_report_the_same_image(tmp_path: Path) -> None:
    spec = shell("[echo, a]", f'image: "{BUSYBOX}"')
    found = [call(tmp_path, engine, spec).details["image"] for engine in ("docker", "oci")]
    assert found[0] == found[1]
    assert found[0] == {"name": BUSYBOX, "digest": oci_images.unpacked_image(BUSYBOX).digest, "tree": None}


@needs_busybox
def test_an_ordinary_user_unpacks_and_runs_an_image_without_a_daemon(tmp_path: Path) -> None:
    configuration = available("oci user")
    layer = busybox()

    def work(engine: Engine) -> str:
        name = "mine:1"
        unpacked.import_archive(name, archive(Path(os.environ["HOME"]) / "image.tar", name, layer))
        sandbox = engine.start(
            Profile(image=name), ["-I", "-S", "-c", "import sys, os; print(sys.prefix, os.getuid())"]
        )
        return f"{interpreter._output(sandbox, 1000).decode()}{sandbox.image}"

    own = unpacked.import_archive("mine:1", archive(tmp_path / "image.tar", "mine:1", layer))
    used = ImageUsed("mine:1", own.digest, (f"config:{own.digest}",))
    assert configuration.run(work) == f"/.toolc 0\n{used}"


def test_a_tool_without_an_image_runs_in_the_same_base_image_on_both_engines(tmp_path: Path) -> None:
    spec = shell("[cat, /etc/os-release, /var/lib/dpkg/status]", "workspace: none")
    docker, oci = (call(tmp_path, engine, spec) for engine in ("docker", "oci"))
    assert docker.details["image"] == oci.details["image"]
    assert text(docker) == text(oci)
    base = find_base(base_tag())
    assert base is not None
    assert oci.details["image"] == {"name": base_tag(), "digest": base.digest, "tree": base.tree}


@pytest.mark.integrations
def test_the_tree_of_a_base_image_that_the_daemon_saves_is_the_same(tmp_path: Path) -> None:
    usable("docker")
    base, client = find_base(base_tag()), optional_client()
    assert base is not None
    assert client is not None
    with (tmp_path / "saved.tar").open("wb") as file:
        save_archive(client, load_base(client, base_tag())[0].id, file)
    with open_archive(tmp_path / "saved.tar") as saved:
        (tmp_path / "root").mkdir()
        assert saved.unpack(saved.image(), tmp_path / "root") == base.tree


@ENGINES
def test_a_lock_with_another_base_image_refuses_the_call(engine: str, tmp_path: Path) -> None:
    usable(engine)
    registry = registry_of(tmp_path, shell("[echo, a]", "workspace: none"))
    base = find_base(base_tag())
    assert base is not None

    def run(tree: str) -> ToolResult:
        lock = lock_tools([registry.registered("tool")], lambda _: (None, ()), "toolc.lock", tree)
        with Executor(registry, engine=engine, lock=lock) as executor:
            return executor.run("tool", {})

    assert text(run(base.tree)) == "a\n"
    assert text(run("any")) == "a\n"
    with pytest.raises(LockError) as caught:
        run(f"sha256:{'0' * 64}")
    assert str(caught.value).startswith(
        f"the base image, in which tool runs, is not the one that toolc.lock approves: found {base_tag()} with the "
        f"tree {base.tree}, approved the tree sha256:{'0' * 64}; get the approved one from a machine that has it: "
    )
    assert "toolc image export base --output base.tar; here, toolc image import base.tar" in str(caught.value)


def test_the_programs_of_the_host_are_used_only_if_the_user_chose_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    usable("oci")
    registry = registry_of(tmp_path, shell("[cat, /var/lib/dpkg/status]", "workspace: none", ANY_EXIT))
    executor = Executor(registry, engine="oci", configuration=Configuration(host_programs=True), pool=None)
    result = executor.run("tool", {})
    assert result.details["image"] == {"name": "host:/usr", "digest": None, "tree": None}
    assert "tools without an image run with this machine's own programs (/usr)" in caplog.text
    lock = lock_tools([registry.registered("tool")], lambda _: (None, ()), "toolc.lock", f"sha256:{'0' * 64}")
    with (
        Executor(registry, engine="oci", configuration=Configuration(host_programs=True), lock=lock) as locked,
        pytest.raises(LockError, match="your configuration says host_programs: true; remove that line"),
    ):
        locked.run("tool", {})


@pytest.mark.parametrize(
    ("engine", "more"), [("docker", ""), ("oci", " or, from a file: toolc image import FILE toolc-test/none:1")]
)
def test_a_missing_image_is_reported(engine: str, more: str, tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError) as caught:
        call(tmp_path, engine, shell("[echo, a]", 'image: "toolc-test/none:1"'))
    assert str(caught.value) == (
        f"the {engine} engine cannot run this call: the image toolc-test/none:1 is not on this host; "
        f"get it with: docker pull toolc-test/none:1{more}"
    )


@needs_busybox
def test_a_removed_image_is_reported_and_works_once_it_is_back(tmp_path: Path) -> None:
    name = f"toolc-test/vanishing:{os.getpid()}"
    file = archive(tmp_path / "image.tar", name, busybox(), "one of its own")
    usable("docker")
    registry = registry_of(tmp_path, shell("[echo, a]", f"image: '{name}'"))
    with Executor(registry, engine="docker", pool=None) as executor:
        with in_docker(file, name):
            assert text(executor.run("tool", {})) == "a\n"
            # The daemon keeps an image whose container it has not removed yet.
            until(lambda: not is_busy())
        for _ in range(2):
            with pytest.raises(InfrastructureError) as caught:
                executor.run("tool", {})
            assert f"the image {name} is not on this host; get it with: docker pull {name}" in str(caught.value)
        with in_docker(file, name):
            assert text(executor.run("tool", {})) == "a\n"
            until(lambda: not is_busy())


def wheel(folder: Path, name: str, version: str, code: str) -> None:
    """Write a minimal wheel."""
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as file:
        for path, text in (
            (f"{name}/__init__.py", code),
            (f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"),
            (f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
            (f"{info}/RECORD", ""),
        ):
            file.writestr(zipfile.ZipInfo(path), text)  # without the time of day, so that it has one digest


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is the only package index."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


REQUIRES = """
    backend:
      python:
        function: run
        requirements: [greeting==1.1]
        code: |
          import greeting
          def run():
              return [greeting.WORD, greeting.__file__]
"""


@ENGINES
def test_requirements_are_installed(engine: str, tmp_path: Path, index: Path) -> None:
    wheel(index, "greeting", "1.1", "WORD = 'hello'\n")
    assert call(tmp_path, engine, REQUIRES).structured == (["hello", "/opt/toolc/site/greeting/__init__.py"],)


@with_images
def test_requirements_in_an_image_without_python(engine: str, tmp_path: Path, index: Path) -> None:
    wheel(index, "greeting", "1.1", "WORD = 'hello'\n")
    spec = textwrap.dedent(REQUIRES) + f"sandbox: {{image: '{BUSYBOX}'}}\n"
    assert call(tmp_path, engine, spec).structured == (["hello", "/opt/toolc/site/greeting/__init__.py"],)


DOCKERFILE = "ARG BASE\nFROM ${BASE}\nCOPY word /word\nRUN echo built >> /word\n"


@ENGINES
def test_an_image_built_from_the_tools_folder(engine: str, tmp_path: Path) -> None:
    usable("docker")
    (tmp_path / "image").mkdir()
    (tmp_path / "image/Dockerfile").write_text(DOCKERFILE, encoding="utf-8")
    (tmp_path / "image/word").write_bytes(base64.b64decode("AP8=") + f"{os.getpid()}\n".encode())
    result = call(tmp_path, engine, shell('[tail, -n, "1", /word]', "build: image"))
    assert text(result) == "built\n"
    image = result.details["image"]
    assert isinstance(image, dict)
    assert str(image["name"]).startswith("toolc/build:")
    remove(str(image["name"]))


@ENGINES
def test_a_dockerfile_that_downloads_with_the_hosts_network_is_refused(engine: str, tmp_path: Path) -> None:
    usable("docker")
    (tmp_path / "image").mkdir()
    (tmp_path / "image/Dockerfile").write_text(f"FROM x\nADD http://127.0.0.1:1/{os.getpid()} /x\n", encoding="utf-8")
    with pytest.raises(InfrastructureError) as caught:
        call(tmp_path, engine, shell("[echo, a]", "build: image"))
    assert str(caught.value) == (
        f"image/Dockerfile makes Docker download 'http://127.0.0.1:1/{os.getpid()} /x' with the host's network; "
        "put the file into the folder and COPY it, or download it with RUN"
    )


@pytest.mark.integrations
@ENGINES
def test_an_image_built_on_toolcs_base_may_lack_python(engine: str, tmp_path: Path) -> None:
    """It inherits the labels of its base image."""
    usable("docker")
    (tmp_path / "image").mkdir()
    (tmp_path / "image/Dockerfile").write_text(
        f"ARG BASE\nFROM ${{BASE}}\nRUN rm -f /usr/bin/python3* # {os.getpid()}\nENV PATH=/nowhere\n", encoding="utf-8"
    )
    argv = '[/bin/sh, -c, "ls /usr/bin/python3 || echo none"]'
    result = call(tmp_path, engine, shell(argv, "build: image"))
    image = result.details["image"]
    assert isinstance(image, dict)
    try:
        assert text(result) == "none\n"
        assert image["name"] not in {built.tag for built in list_images()}
    finally:
        remove(str(image["name"]))


@ENGINES
@needs_busybox
def test_an_image_creates_nothing_in_the_workspace(engine: str, tmp_path: Path) -> None:
    """Docker creates the mount point of a volume as root."""
    name = f"toolc-test/volume:{os.getpid()}"
    (tmp_path / "work").mkdir()
    usable("docker")
    with (
        in_docker(archive(tmp_path / "x.tar", name, busybox(), volume="/data/../workspace/made"), name),
        pytest.raises(
            InfrastructureError, match=r"the image declares a volume at '/data/\.\./workspace/made', which a"
        ),
    ):
        call(tmp_path, engine, shell("[echo, a]", f'image: "{name}", workspace: rw'), workspace=tmp_path / "work")
    assert list((tmp_path / "work").iterdir()) == []


def test_a_failed_build_shows_dockers_output(tmp_path: Path) -> None:
    (tmp_path / "image").mkdir()
    (tmp_path / "image/Dockerfile").write_text(
        "ARG BASE\nFROM ${BASE}\nRUN echo no such thing >&2; exit 7\n", encoding="utf-8"
    )
    with pytest.raises(InfrastructureError) as caught:
        call(tmp_path, "docker", shell("[echo, a]", "build: image"))
    assert str(caught.value).startswith(
        "the image of image/Dockerfile could not be built: "
        "The command '/bin/sh -c echo no such thing >&2; exit 7' returned a non-zero code: 7"
    )
    assert "no such thing" in str(caught.value)


@with_images
def test_the_approved_image_and_packages_are_used(engine: str, tmp_path: Path, index: Path) -> None:
    wheel(index, "greeting", "2.0", "WORD = 'hello'\n")
    spec = textwrap.dedent(REQUIRES).replace("1.0", "2.0") + f"sandbox: {{image: '{BUSYBOX}'}}\n"
    usable(engine)
    pins = load(engine).content_digests(Profile(image=BUSYBOX, requirements=("greeting==2.0",)))
    assert pins.image is not None
    image = pins.image.digest
    digest = hashlib.sha256((index / "greeting-2.0-py3-none-any.whl").read_bytes()).hexdigest()
    assert pins.packages == (f"greeting==2.0@sha256:{digest}",)
    registry = registry_of(tmp_path, spec)
    lock = lock_tools([registry.registered("tool")], lambda _: (image, pins.packages), "toolc.lock")
    with Executor(registry, engine=engine, lock=lock) as executor:
        assert executor.run("tool", {}).structured == (["hello", "/opt/toolc/site/greeting/__init__.py"],)
    wheel(index, "greeting", "2.0", "WORD = 'another'\n")
    other = Lock("toolc.lock", {"tool": replace(lock.tools["tool"], packages=(f"greeting==2.0@sha256:{'0' * 64}",))})
    with (
        Executor(registry, engine=engine, lock=other) as executor,
        pytest.raises(InfrastructureError, match="greeting"),
    ):
        executor.run("tool", {})
    other = Lock("toolc.lock", {"tool": replace(lock.tools["tool"], image=f"sha256:{'0' * 64}")})
    with Executor(registry, engine=engine, lock=other) as executor, pytest.raises(LockError, match="is not the one"):
        executor.run("tool", {})
