"""A cluster whose nodes differ: one has no gVisor, one has other code, and tools and images change while calls run."""

import contextlib
import json
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cli.command_line import toolc as command
from docker.api.client import APIClient
from engines.configurations import available
from engines.gvisor_daemon import gvisor_socket
from engines.ray_clusters import add_node, ray_cluster
from engines.waiting_sandboxes import until

import toolc
from toolc.client.registry import Registry
from toolc.cluster import nodes
from toolc.cluster.placement import Node
from toolc.cluster.ray_executor import RayExecutor
from toolc.model.errors import NoEngineError, RegistryError
from toolc.sandbox.docker.base_image import tag_base
from toolc.sandbox.docker.daemon import connect
from toolc.sandbox.images.stored import base_tag

ray = pytest.importorskip("ray")

pytestmark = [pytest.mark.integrations, pytest.mark.timeout(600)]

LATER = "toolc-test/later:1"
"""An image that appears while a call waits for it."""

SPEC = f"""\
toolc: 1
tools:
  - name: plain
    description: Say a word in any sandbox, for the tests of a cluster only.
    backend: {{shell: {{argv: [echo, plain]}}}}
  - name: strict
    description: Say a word in gVisor, for the tests of a cluster only.
    backend: {{shell: {{argv: [echo, strict]}}}}
    sandbox: {{min_isolation: gvisor}}
  - name: later
    description: Say a word in an image, for the tests of a cluster only.
    backend: {{shell: {{argv: [echo, later]}}}}
    sandbox: {{image: {LATER}}}
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A head with gVisor, a node without Docker, and a node with other code."""
    other = tmp_path_factory.mktemp("other")
    shutil.copytree(Path(toolc.__file__).parent, other / "toolc")
    (other / "toolc" / "added.py").touch()
    (other / "sitecustomize.py").write_text("import toolc\n")  # before Ray adds the folders of the driver
    available("docker+gvisor")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", f"unix://{gvisor_socket()}")
        with ray_cluster() as cluster:
            add_node(cluster, env_vars={"DOCKER_HOST": "unix:///missing.sock"})
            add_node(cluster, env_vars={"PYTHONPATH": str(other)})
            ray.init(address=cluster.address, log_to_driver=False)
            yield cluster
            ray.shutdown()


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    (tmp_path / "tools.yaml").write_text(SPEC)
    return Registry.load(tmp_path / "tools.yaml")


def test_calls_run_where_the_node_has_what_the_tool_needs(cluster: Any, registry: Registry) -> None:
    head = cluster.head_node.node_id
    with RayExecutor(registry, is_usable=lambda each: each["NodeID"] != head) as weak:
        assert weak.run("plain", {}).text == "plain\n"
        with pytest.raises(NoEngineError, match=r"(?s)no node of the cluster can run this call:.*gvisor"):
            weak.run("strict", {})
    with RayExecutor(registry) as executor:
        assert executor.max_parallel > 0
        assert len(executor.nodes) == 2
        assert str(executor.run("strict", {}).details["node"]).endswith(f" {head[:8]})")


def test_a_node_with_other_code_runs_no_calls_of_a_batch(cluster: Any, registry: Registry, tmp_path: Path) -> None:
    lines = (json.dumps({"id": str(number), "tool": "strict", "arguments": {}}) for number in range(20))
    (tmp_path / "calls.jsonl").write_text("".join(f"{line}\n" for line in lines))
    status, _, err = command(
        "batch", str(tmp_path / "tools.yaml"), str(tmp_path / "calls.jsonl"), "--out", str(tmp_path / "out.jsonl"),
        "--address", cluster.address,
    )  # fmt: skip
    results = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert (status, len(results), {each["status"] for each in results}) == (0, 20, {"ok"}), err
    head = f"{cluster.head_node.node_id[:8]})"
    assert {each["result"]["details"]["node"].split()[-1] for each in results} == {head}
    refusal = f"it has toolc {toolc.__version__} (the digest of its code begins with"
    assert refusal in command("doctor", "--address", cluster.address)[1]


def test_a_node_whose_tools_differ_from_those_of_the_driver_refuses_the_call(
    cluster: Any, registry: Registry, tmp_path: Path
) -> None:
    def changed(word: str) -> Registry:
        (tmp_path / "tools.yaml").write_text(SPEC.replace("echo, plain", f"echo, {word}"))
        return Registry.load(tmp_path / "tools.yaml")

    with RayExecutor(registry, engine="oci") as first:
        assert first.run("plain", {}).text == "plain\n"
        third = first.with_registry(changed("two"), None).with_registry(changed("three"), None)
        assert third.run("plain", {}).text == "three\n"
        with pytest.raises(RegistryError, match="the node has another version of the tool 'plain' than the driver"):
            first.run("plain", {})


def test_a_call_waits_while_its_node_gets_images(
    cluster: Any, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = threading.Event()
    fetching: list[Node] = []

    def fetch_images(node: Node) -> None:
        fetching.append(node)
        fetched.wait()

    monkeypatch.setattr(nodes, "fetch_images", fetch_images)
    client = connect(gvisor_socket()).client
    tag_base(client, base_tag())
    head = cluster.head_node.node_id
    with (
        contextlib.closing(APIClient(f"unix://{gvisor_socket()}", version="auto", timeout=300)) as api,
        RayExecutor(registry, engine="docker", is_usable=lambda each: each["NodeID"] == head) as executor,
        ThreadPoolExecutor(1) as threads,
        contextlib.ExitStack() as stack,
    ):
        stack.callback(fetched.set)
        call = threads.submit(executor.run, "later", {})
        until(lambda: fetching and fetching[0].lacks)
        repository, _, tag = LATER.partition(":")
        api.tag(base_tag(), repository, tag)
        stack.callback(api.remove_image, LATER)
        assert not call.done()
        fetched.set()
        assert call.result().text == "later\n"
