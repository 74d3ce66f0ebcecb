"""Which node gets the next call."""

from toolc.cluster.messages import NodeReport
from toolc.cluster.placement import Node, choose


def node(name: str, load: int, *, warm: bool = False, lacks: bool = False, slots: int = 4) -> Node:
    made = Node(name, name, None, NodeReport(slots=slots), load=load)
    made.warm.update({"tool"} if warm else ())
    made.lacks.update({"tool": "no gVisor"} if lacks else {})
    return made


def name(*nodes: Node) -> str | None:
    chosen = choose(nodes, "tool")
    return chosen.name if chosen else None


def test_the_least_busy_node_runs_the_call() -> None:
    assert name(node("a", 2), node("b", 1)) == "b"


def test_a_node_where_the_tool_is_warm_may_be_a_little_busier() -> None:
    assert name(node("a", 2, warm=True), node("b", 1)) == "a"
    assert name(node("a", 3, warm=True), node("b", 1)) == "b"


def test_a_node_that_is_full_or_lacks_something_is_not_used() -> None:
    assert name(node("a", 4, warm=True), node("b", 3)) == "b"
    assert name(node("a", 0, lacks=True), node("b", 3)) == "b"
    assert name(node("a", 4), node("b", 0, lacks=True)) is None
    assert name() is None
