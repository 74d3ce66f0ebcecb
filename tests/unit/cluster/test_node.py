"""The actor of a node: which drivers it serves. What it does with calls is in tests/integration/slow/cluster."""

import asyncio
import pickle

from toolc.client.registry import Registry
from toolc.cluster.node import NodeActor, NodeReport, NodeSetup, versions


def report(needed: dict[str, str]) -> NodeReport:
    setup = pickle.dumps(NodeSetup(tools=(), parts=Registry().parts))
    return asyncio.run(NodeActor(needed, setup).report())


def test_a_node_with_the_code_of_the_driver_runs_calls() -> None:
    assert (report(dict(versions())).refusal, report(dict(versions())).slots > 0) == ("", True)


def test_a_node_with_other_code_or_another_python_says_what_differs() -> None:
    own = versions()
    assert "the digest of its code begins with" in own["toolc"]
    assert report({**own, "toolc": "0.2.0"}).refusal == (
        f"it has toolc {own['toolc']}, and the driver has 0.2.0; install the same on all nodes"
    )
    assert "it has Python" in report({**own, "Python": "2.7"}).refusal
