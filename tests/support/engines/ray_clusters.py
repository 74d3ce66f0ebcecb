"""Clusters of Ray on this machine."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def ray_cluster(**settings: object) -> Iterator[Any]:
    """Yield a cluster with a head only. Its nodes accept drivers without a token."""
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_agent_register_timeout_ms", "200000")
        cluster = cluster_utils.Cluster()
        try:
            add_node(cluster, **settings)
            yield cluster
        finally:
            cluster.shutdown()


def add_node(cluster: Any, **settings: object) -> Any:
    """Add a node, first the head. On a busy machine it can miss Ray's limits of 30 seconds: try another one then."""
    for _ in range(10):
        nodes, processes = {cluster.head_node, *cluster.worker_nodes}, _child_processes()
        with suppress(Exception):  # Ray raises TimeoutError, or a plain Exception while the node itself starts
            return cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20, **settings)
        for late in {cluster.head_node, *cluster.worker_nodes} - nodes:
            cluster.remove_node(late, allow_graceful=False)
        for pid in _child_processes() - processes:  # of a node that Ray gave up and forgot
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    pytest.fail("no node of Ray starts")


def _child_processes() -> set[int]:
    return {int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}
