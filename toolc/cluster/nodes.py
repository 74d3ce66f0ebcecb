"""Track the nodes of a cluster as they join and leave, and choose the node for a call.

Each node gets one actor, which is bound to it and is never restarted, so no call runs twice. A thread looks for new
nodes every two seconds.
"""

from __future__ import annotations

import logging
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any, Final

from toolc.cluster.messages import NodeReport, NodeSetup
from toolc.cluster.placement import Node, choose
from toolc.cluster.ray_calls import (
    CLOSE_SECONDS,
    START_SECONDS,
    WAIT_SECONDS,
    NodeDiedError,
    asked,
    end_actors,
    fetch_images,
    live_nodes,
    start_actor,
)
from toolc.model.errors import InfrastructureError, NoEngineError, UsageError
from toolc.runtime.cancellation import Deadline

LOOK_SECONDS: Final = 2.0
"""How often the list of nodes is read. Ray itself needs about as long to notice a dead node."""

REST_SECONDS: Final = 10.0
"""The time before a node whose actor died gets another actor. Ray may notice later than toolc that the node is gone."""


class Nodes:
    """The nodes that run the calls of one driver. Safe to use from several threads."""

    def __init__(self, setup: NodeSetup, is_usable: Callable[[Any], bool]) -> None:
        self._setup = pickle.dumps(setup)
        self._is_usable = is_usable
        self._nodes: dict[str, Node] = {}
        self._refused: dict[str, str] = {}
        self._starting: set[str] = set()
        self._died: dict[str, float] = {}
        self._has_looked = False
        self._sessions: dict[str, Node] = {}
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="toolc nodes", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> list[Node]:
        """The nodes that run calls."""
        with self._changed:
            return [node for node in self._nodes.values() if not node.is_dead]

    @property
    def refused(self) -> tuple[str, ...]:
        """The names of the nodes that run no calls, each with the reason."""
        with self._changed:
            return tuple(self._refused.values())

    def update(self, setup: NodeSetup) -> None:
        """Send new tools to all nodes. Returns when every live node has them."""
        with self._changed:
            self._setup = pickle.dumps(setup)
        for node in self.alive:
            try:
                asked(node, "update", self._setup)
            except NodeDiedError:
                self.has_died(node)
            else:
                self._fetch_images(node)

    def settled(self) -> list[Node]:
        """Wait until every node of the cluster has started its actor, then return the nodes that run calls."""
        deadline = monotonic() + START_SECONDS
        with self._changed:
            while (self._starting or not self._has_looked) and monotonic() < deadline:
                self._changed.wait(WAIT_SECONDS)
        return self.alive

    @contextmanager
    def lease(self, effect_digest: str, limits: Deadline, session: str) -> Iterator[Node]:
        """Wait for a free slot on a node and take it. The calls of a session get the node of its first call.

        If the node cannot run the tool (``NoEngineError``) or dies before the call starts (``NodeDiedError``), the
        block ends, and another lease gets another node.

        Raises ``InterruptedWaitError`` if the call is cancelled or its time runs out first, ``NoEngineError`` with the
        reason of each node if no node can run the tool, and ``UsageError`` after ``close``.
        """
        node = self._acquire(effect_digest, limits, session)
        was_fetching = bool(node.fetching)
        try:
            yield node
        except NoEngineError as error:
            with self._changed:
                if node.fetching or not was_fetching:  # otherwise the image may have come since
                    node.lacks[effect_digest] = str(error)
                if self._sessions.get(session) is node:
                    del self._sessions[session]
        except NodeDiedError:
            self.has_died(node)
        finally:
            with self._changed:
                node.load -= 1
                self._changed.notify_all()

    def _acquire(self, effect_digest: str, limits: Deadline, session: str) -> Node:
        give_up = monotonic() + START_SECONDS
        with self._changed:
            while True:
                limits.check()
                if self._closed.is_set():
                    raise UsageError("the executor is closed; call tools before close(), or inside the 'with' block")
                home = self._sessions.get(session)
                nodes = [home] if home else [*self._nodes.values()]
                if node := choose(nodes, effect_digest):
                    node.load += 1
                    node.warm.add(effect_digest)
                    if session:
                        self._sessions[session] = node
                    return node
                can = [each for each in nodes if each.fetching or effect_digest not in each.lacks]
                if not can and not self._starting and (nodes or self._refused or monotonic() > give_up):
                    raise NoEngineError(self._lacking(nodes, effect_digest))
                self._changed.wait(WAIT_SECONDS)

    def end_session(self, session: str) -> Node | None:
        """Forget a session. Return its node."""
        with self._changed:
            return self._sessions.pop(session, None)

    def _lacking(self, nodes: list[Node], effect_digest: str) -> str:
        reasons = [*self._refused.values(), *(f"{node.name}: {node.lacks.get(effect_digest, '')}" for node in nodes)]
        lines = "".join(f"\n- {reason}" for reason in reasons)
        return f"no node of the cluster can run this call{':' if lines else ', because none is alive'}{lines}"

    def has_died(self, node: Node) -> None:
        """Stop using a node and its sessions."""
        with self._changed:
            node.is_dead = True
            self._nodes.pop(node.id, None)
            self._died[node.id] = monotonic()
            self._sessions = {name: each for name, each in self._sessions.items() if each is not node}
            self._changed.notify_all()

    def close(self) -> None:
        """End the executors and actors of all nodes. Running calls have up to ``CLOSE_SECONDS`` to finish."""
        self._closed.set()
        deadline = monotonic() + CLOSE_SECONDS
        with self._changed:
            while any(node.load for node in self._nodes.values()) and monotonic() < deadline:
                self._changed.wait(WAIT_SECONDS)
            actors, self._nodes = [node.actor for node in self._nodes.values()], {}
        end_actors(actors)

    def _watch(self) -> None:
        while not self._closed.is_set():
            try:
                self._look()
            except Exception as error:  # noqa: BLE001  Ray raises many types while a cluster ends
                logging.getLogger("toolc").warning("the nodes of the cluster cannot be listed: %s", error)
            self._closed.wait(LOOK_SECONDS)

    def _look(self) -> None:
        """Start an actor on each node that has none, and forget nodes that have left."""
        alive = live_nodes()
        with self._changed:
            self._refused = {each: reason for each, reason in self._refused.items() if each in alive}
            gone = [node for node in self._nodes.values() if node.id not in alive]
            dying = {each for each, when in self._died.items() if monotonic() - when < REST_SECONDS}
            known = {*self._nodes, *self._starting, *self._refused, *dying}
            new = [each for each in alive if each not in known and self._is_usable(alive[each][1])]
            self._starting.update(new)
            self._has_looked = True
        for node in gone:
            self.has_died(node)
        for each in new:
            name = alive[each][0]
            threading.Thread(target=self._start, args=(each, name), name="toolc node", daemon=True).start()

    def _start(self, node_id: str, name: str) -> None:
        actor, setup = None, self._setup
        try:
            actor, report = start_actor(node_id, setup)
        except (Exception, SystemExit) as error:  # noqa: BLE001  Ray raises many types, and SystemExit at its own end
            *_, reason = str(error).strip().split("\n")
            report = NodeReport(refusal=f"its actor did not start: {reason or type(error).__name__}")
        with self._changed:
            self._starting.discard(node_id)
            if report.refusal:
                self._refused[node_id] = f"{name}: {report.refusal}"
                logging.getLogger("toolc").warning("a node runs no calls: %s: %s", name, report.refusal)
            elif not self._closed.is_set():
                if setup is not self._setup and actor:
                    actor.update.remote(self._setup)
                self._nodes[node_id] = Node(node_id, name, actor, report)
                self._fetch_images(self._nodes[node_id])
            self._changed.notify_all()

    def _fetch_images(self, node: Node) -> None:
        """Let a node get the images of all tools while it runs calls.

        It can then run the tools that it refused before.
        """

        def fetch() -> None:
            with suppress(NodeDiedError, InfrastructureError):  # calls have the same errors
                fetch_images(node)
            with self._changed:
                node.fetching -= 1
                node.lacks.clear()
                self._changed.notify_all()

        with self._changed:
            node.fetching += 1
        threading.Thread(target=fetch, name="toolc images", daemon=True).start()
