"""The Dockerfile for deployments: both variants run calls, with the rights on the page and not without one of them."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from engines.image_cases import usable
from project.paths import ROOT

from toolc.sandbox.docker import base_image, image_builder

pytestmark = [pytest.mark.integrations, pytest.mark.timeout(900)]

PAGE = (ROOT / "docs/guides/deploy.md").read_text()
CAPABILITIES = re.findall(r"--cap-add (\w+)", PAGE)
OPTIONS = ("--security-opt=seccomp=unconfined", "--security-opt=systempaths=unconfined")
GROUPS = "--volume=/sys/fs/cgroup:/sys/fs/cgroup"
CALL = ("run", "/specs/echo.yaml", "--workspace", "/tmp", "--arg", "words=hi")
SERVER = ("serve", "/specs", "--http", "127.0.0.1:0")
SPEC = """\
toolc: 1
name: echo_words
description: Print the words that are passed. Use it to try an image.
parameters: {words: {type: string, description: What to print}}
backend: {shell: {argv: [echo, "{{ words }}"]}}
"""


def docker(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a folder with specs and a configuration, after both variants were built."""
    usable("docker")
    if shutil.which("docker") is None:
        pytest.skip("the command docker is not installed")
    base = image_builder.build_image("python", base=base_image.build_base(None, print), on_progress=lambda _: None).tag
    version = docker("run", "--rm", base, "python3", "-c", "import sys; print(*sys.version_info[:2])").stdout.split()
    if version != [str(each) for each in sys.version_info[:2]]:
        pytest.skip(f"the wheels of this Python are not for the one in the image, {'.'.join(version)}")
    context = tmp_path_factory.mktemp("deploy")
    wheels = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*wheels, str(context / "wheels"), f"{ROOT}[serve,metrics,otel]"], check=True)
    shutil.copy(ROOT / "docs/guides/deploy/Dockerfile", context)
    for target in ("docker", "oci"):
        build = ("build", "--quiet", "--network=host", f"--build-arg=BASE={base}", f"--target={target}")
        done = docker(*build, f"--tag=toolc-tests/deploy-{target}", str(context))
        assert done.returncode == 0, done.stderr
    for name, text in (("specs/echo.yaml", SPEC), ("configuration/config.yaml", "host_programs: true\n")):
        (context / name).parent.mkdir(mode=0o755)
        (context / name).write_text(text)
        (context / name).chmod(0o644)
    context.chmod(0o755)
    yield context
    for target in ("docker", "oci"):
        docker("image", "rm", "--force", f"toolc-tests/deploy-{target}")


def run(
    folder: Path, target: str, *options: str, arguments: tuple[str, ...] = CALL
) -> "subprocess.CompletedProcess[str]":
    return docker(
        "run", "--rm", "--read-only", "--tmpfs=/tmp", "--tmpfs=/run", "--volume=/var/lib/toolc",
        f"--volume={folder}/specs:/specs:ro", *options, f"toolc-tests/deploy-{target}", *arguments,
    )  # fmt: skip


def in_container(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    return run(folder, "oci", f"--volume={folder}/configuration:/etc/xdg-toolc/toolc:ro", "--cap-drop=ALL", *options)


def test_the_variant_with_the_socket_runs_calls_as_an_ordinary_user(folder: Path) -> None:
    socket = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    group = str(Path(socket).stat().st_gid)
    done = run(folder, "docker", f"--volume={socket}:/var/run/docker.sock", f"--group-add={group}")
    assert (done.returncode, done.stdout) == (0, "hi\n"), done.stderr
    for arguments in (CALL, SERVER):
        without = run(folder, "docker", arguments=arguments)
        assert without.returncode == 3, without.stderr
        assert "no Docker daemon was found on this host" in without.stderr


def test_a_server_without_the_rights_of_the_page_does_not_start(folder: Path) -> None:
    without = run(folder, "oci", "--cap-drop=ALL", arguments=SERVER)
    assert without.returncode == 3, without.stderr
    assert "oci: root has no CAP_SYS_ADMIN here" in without.stderr


def test_the_oci_variant_runs_calls_with_the_rights_of_the_page_and_needs_each(folder: Path) -> None:
    rights = (*(f"--cap-add={each}" for each in CAPABILITIES), *OPTIONS, GROUPS)
    done = in_container(folder, *rights)
    assert (done.returncode, done.stdout) == (0, "hi\n"), done.stderr

    def run_without(missing: str) -> "subprocess.CompletedProcess[str]":
        return in_container(folder, *(each for each in rights if each != missing))

    with ThreadPoolExecutor(4) as threads:
        for missing, without in zip(rights, threads.map(run_without, rights), strict=True):
            assert (without.returncode, without.stdout) == (3, ""), missing
            assert "toolc: " in without.stderr, missing
