"""Containers of killed processes are removed, and only those."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from engines.docker_cases import client, containers, engine, python
from engines.waiting_sandboxes import until

from toolc.model.plan import Profile
from toolc.sandbox.docker import container, container_config, sweep
from toolc.sandbox.docker.api_client import Client
from toolc.sandbox.docker.daemon import OWNER_LABEL
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.host import owner
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.host.start_folder import StartFolder
from toolc.sandbox.images.stored import base_tag

__all__ = ["client", "engine"]

DIE = """
import os, select, signal, sys
from toolc.sandbox.docker import api_client, engine as docker_engine
from toolc.sandbox.docker.engine import DockerEngine
from toolc.sandbox.host.owner import Owner
from toolc.sandbox.host.start_folder import StartFolder
from toolc.model.plan import Profile

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def die_after(module, name):
    original = getattr(module, name)
    def both(*arguments):
        original(*arguments)
        die()
    setattr(module, name, both)

moment = sys.argv[1]
print(Owner.current().label(), Owner.current().directory(), flush=True)
name = moment.partition(" ")[0] + "_container"
if moment.endswith(" under way"):
    original = getattr(docker_engine, name)
    def die_before_the_response(*arguments):
        api_client.read_head = die
        original(*arguments)
    setattr(docker_engine, name, die_before_the_response)
elif moment == "before create":
    docker_engine.create_container = die
elif moment != "in call":
    die_after(docker_engine, name)
sandbox = DockerEngine().start(Profile(), ["-I", "-S", "-c", sys.argv[2]])
while not sandbox.read():
    select.select([sandbox], [], [])
die()
"""

GUEST = "import os, sys\nif os.fork() == 0: os.setsid()\nprint('up', flush=True)\nsys.stdin.read()"


def with_label(client: Client, label: str) -> list[str]:
    filters = quote(json.dumps({"label": [f"{OWNER_LABEL}={label}"]}))
    listed = client.call("GET", f"/containers/json?all=1&filters={filters}", timeout=60)
    assert isinstance(listed, list)
    return [str(each["Id"]) for each in listed if isinstance(each, dict)]


@pytest.mark.parametrize(
    "moment", ["before create", "create under way", "create", "attach", "start under way", "start", "in call"]
)
def test_a_killed_process_leaves_nothing(client: Client, moment: str) -> None:
    died = subprocess.run(
        [sys.executable, "-c", DIE, moment, GUEST], stdout=subprocess.PIPE, text=True, check=False, timeout=90
    )
    assert died.returncode == -signal.SIGKILL
    label, directory = died.stdout.split()
    # The janitor removes its owner's folder last; the next start of another process does so too.
    until(lambda: not Path(directory).exists() and with_label(client, label) == [])


def test_a_process_that_ends_leaves_nothing_and_no_janitor(client: Client) -> None:
    program = DIE.replace("\ndie()\n", "\n")
    done = subprocess.run(
        [sys.executable, "-c", program, "in call", GUEST], stdout=subprocess.PIPE, text=True, check=True, timeout=90
    )
    label, directory = done.stdout.split()
    # The start of another process may remove the folder of this one first, while the daemon removes the container.
    until(lambda: not Path(directory).exists() and with_label(client, label) == [])


@pytest.fixture
def dead_owner(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the label of a process that has exited.

    It is on a machine of this test only: other processes remove leftovers of dead owners too, and would be first.
    """
    with subprocess.Popen(["true"]) as over:
        over.wait()
    own = "e" * 16, f"{os.getpid():016x}"
    monkeypatch.setattr(owner, "_machine_and_boot", lambda: own)
    yield replace(Owner.current(), pid=over.pid, start=1).label()
    shutil.rmtree(Owner.current().directory())


def created(client: Client, engine: DockerEngine, owner: str) -> str:
    """Create a container with the label of this owner, without starting it."""
    daemon = engine._connect()
    image = container.find_image(client, base_tag())
    assert image is not None
    body = container_config.create_config(
        Profile(), python("pass"), daemon=daemon, image=image, owner=owner, folder=StartFolder()
    )
    return container.create_container(client, f"toolc-test-{os.urandom(4).hex()}", body)


@pytest.fixture
def foreign_and_living(client: Client, engine: DockerEngine) -> Iterator[list[str]]:
    here = Owner.current()
    foreign = Owner(machine="f" * 16, boot="0" * 16, pidns=1, pid=1, start=1).label()
    made = [created(client, engine, owner) for owner in (here.label(), foreign, "not an owner")]
    yield made
    for each in made:
        container.remove_container(client, each)


def test_the_first_start_sweeps_only_dead_owners(
    client: Client, engine: DockerEngine, dead_owner: str, foreign_and_living: list[str]
) -> None:
    left = created(client, engine, dead_owner)
    other = DockerEngine()
    other.start(Profile(), python("pass")).close()
    other.close()
    remaining = containers(client)
    assert left not in remaining
    assert set(foreign_and_living) <= set(remaining)


def test_the_janitor_removes_the_containers_of_its_owner(
    client: Client, engine: DockerEngine, dead_owner: str, foreign_and_living: list[str]
) -> None:
    left = created(client, engine, dead_owner)
    assert sweep.sweep_owner(client.socket_path, client.version_prefix, dead_owner)
    assert left not in containers(client)
    assert not sweep.sweep_owner(client.socket_path, client.version_prefix, dead_owner)
    assert set(foreign_and_living) <= set(containers(client))


def test_without_a_daemon_there_is_nothing_to_remove(tmp_path: Path) -> None:
    assert not sweep.sweep_owner(str(tmp_path / "none.sock"), "", "owner")
