"""Call the actor of a node through Ray, and translate Ray's exceptions."""

from __future__ import annotations

import logging
import os
import pickle
import socket
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, Final, TypeVar

from toolc.cluster.messages import MAX_CALLS, Failed, NodeReport, RemoteCall, versions
from toolc.cluster.node import NodeActor
from toolc.cluster.placement import Node
from toolc.model.errors import InfrastructureError, MissingExtraError, ToolcError, UsageError
from toolc.model.events import Listener, ToolEnd, ToolStart
from toolc.model.result import ToolResult
from toolc.runtime.cancellation import Cancellation
from toolc.runtime.sessions.programs import OnOutput

try:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
except ModuleNotFoundError as error:
    raise MissingExtraError("toolc.cluster", "ray") from error

T = TypeVar("T")

CONNECT_SECONDS: Final = 5.0
"""How long the head of a cluster may take to accept a connection."""

START_SECONDS: Final = 120.0
"""How long an actor may take to start. Its environment may have to be installed first."""

CLOSE_SECONDS: Final = 30.0
"""How long the running calls of a node may take to end when the executor is closed."""

WAIT_SECONDS: Final = 0.05
"""The longest time until a waiting call notices its cancellation."""


class NodeDiedError(Exception):
    """A node or its actor ended before it answered."""


def connect(address: str | None) -> None:
    """Join the cluster. Raises ``UsageError``."""
    if address is not None and address.startswith("ray://"):
        raise UsageError(
            "Ray Client (ray://) cannot stream results; run the program on a node of the cluster with address='auto', "
            "or submit it with: ray job submit"
        )
    if ray.is_initialized():
        return
    _check_listens(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.WARNING)
    except (ConnectionError, ValueError) as error:  # ValueError: not an address
        raise UsageError(f"there is no Ray cluster at {address or 'this address'}: {error}") from None


def _check_listens(address: str | None) -> None:
    """Raise ``UsageError`` if nothing listens at HOST:PORT, because Ray would keep trying for minutes."""
    given = os.environ.get("RAY_ADDRESS", "") if address in (None, "auto") else address
    host, _, port = (given or "").rpartition(":")
    if not (host and port.isdigit()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"there is no Ray cluster at {given}: {reason}; ray start --head prints its address") from None


def live_nodes() -> dict[str, tuple[str, Any]]:
    """Return the name and Ray's description of each live node of the cluster, by node id."""
    return {
        each["NodeID"]: (f"{each['NodeManagerHostname']} ({each['NodeManagerAddress']}, {each['NodeID'][:8]})", each)
        for each in ray.nodes()
        if each["Alive"]
    }


def start_actor(node_id: str, setup: bytes) -> tuple[Any, NodeReport]:
    """Start the actor of a node, which Ray never restarts. Raises Ray's exceptions."""
    actor = (
        ray.remote(NodeActor)
        .options(
            num_cpus=0,
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=MAX_CALLS,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node_id, soft=False),
        )
        .remote(dict(versions()), setup)
    )
    return actor, ray.get(actor.report.remote(), timeout=START_SECONDS)


def end_actors(actors: list[Any]) -> None:
    """Close the executors of these actors, and end them."""
    closing = [actor.close.remote() for actor in actors]
    if closing:
        ray.wait(closing, num_returns=len(closing), timeout=CLOSE_SECONDS)
    for actor in actors:
        ray.kill(actor)


def fetch_images(node: Node) -> None:
    """Let a node get the images of all tools, and log its messages. Raises ``NodeDiedError``."""
    messages = node.actor.fetch_images.options(num_returns="streaming").remote()
    while (message := _translated(lambda: next(messages, None), node)) is not None:
        level, text = _translated(partial(ray.get, message), node)
        logging.getLogger("toolc.images").log(level, "%s %s", node.name, text)


def asked(node: Node, method: str, *arguments: object) -> Any:
    """Return the answer of a method of a node's actor. Raises ``NodeDiedError``."""
    return _translated(lambda: ray.get(getattr(node.actor, method).remote(*arguments)), node)


def awaited(node: Node, call: RemoteCall, cancellation: Cancellation) -> ToolResult | Failed:
    """Run a call on a node and return its result. Raises ``NodeDiedError``."""
    answer = _answer(node, call.key, node.actor.run.remote(pickle.dumps(call)), cancellation)
    result: ToolResult | Failed = pickle.loads(answer)  # noqa: S301  from a node, which runs code of the driver
    return result


def used(node: Node, key: str, request: tuple[object, ...], cancellation: Cancellation) -> object:
    """Use an open sandbox on a node and return the answer. Raises ``NodeDiedError``."""
    return _answer(node, key, node.actor.use_sandbox.remote(key, *request), cancellation)


def _answer(node: Node, key: str, reference: Any, cancellation: Cancellation) -> Any:
    """Return the answer of a method that ``cancel`` can end."""
    done: Future[object] | None = None
    with _cancelling(node, key, cancellation) as check:
        while True:
            check()
            wait = done.result if done else partial(ray.get, reference)  # faster, but only for one wait
            try:
                return _translated(partial(wait, timeout=WAIT_SECONDS), node)
            except TimeoutError:
                done = done or reference.future()


def followed(node: Node, call: RemoteCall, on_event: Listener, cancellation: Cancellation) -> ToolResult | Failed:
    """Like ``awaited``, but pass on the events of the call, except for its start and end. Raises ``NodeDiedError``."""
    outcome: ToolResult | Failed = Failed("InfrastructureError", "the node sent no result")
    with closing(_sent(node, call.key, node.actor.stream, (call,), cancellation)) as items:
        for item in items:
            if isinstance(item, Failed):
                outcome = item
            elif isinstance(item, ToolEnd) and item.call_id == call.call_id:
                outcome = item.result
            elif not (isinstance(item, ToolStart) and item.call_id == call.call_id):
                on_event(item)
    return outcome


def output_of(
    node: Node, key: str, request: tuple[object, ...], on_output: OnOutput | None, cancellation: Cancellation
) -> object:
    """Like ``used``, but pass on the output of a command or program. Raises ``NodeDiedError``."""
    answer: object = Failed("InfrastructureError", "the node sent no answer")
    with closing(_sent(node, key, node.actor.follow_output, (key, *request), cancellation)) as items:
        for item in items:
            if not isinstance(item, tuple):
                answer = item
            elif on_output is not None:
                on_output(*item)
    return answer


def _sent(
    node: Node, key: str, method: Any, arguments: tuple[object, ...], cancellation: Cancellation
) -> Generator[Any, None, None]:
    """Yield the items that a method sends. ``cancel`` ends the method, and so does closing this generator."""
    items = method.options(num_returns="streaming", _generator_backpressure_num_objects=64).remote(*arguments)
    with _cancelling(node, key, cancellation) as check:
        while True:
            check()
            ready, _ = ray.wait([items], timeout=WAIT_SECONDS)
            if not ready:
                continue
            try:
                item = _translated(lambda: ray.get(next(items)), node)
            except StopIteration:
                return
            yield item


@contextmanager
def _cancelling(node: Node, key: str, cancellation: Cancellation) -> Iterator[Callable[[], None]]:
    """Yield a function that forwards the cancellation of a call. An exception in the driver also cancels the call."""

    def check() -> None:
        if cancellation.is_cancelled:  # each time, because Ray may run this request before the call
            node.actor.cancel.remote(key)

    try:
        yield check
    except NodeDiedError:
        raise
    except BaseException:  # such as KeyboardInterrupt, or an exception of on_event
        node.actor.cancel.remote(key)
        raise


def _translated(ask: Callable[[], T], node: Node) -> T:
    """Return the answer. Raises ``NodeDiedError`` or ``InfrastructureError`` in place of Ray's exceptions."""
    try:
        return ask()
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, OSError | ToolcError):  # such as a full disk
            raise InfrastructureError(f"the node {node.name} cannot run the call: {error.cause}") from None
        raise InfrastructureError(f"this is a bug in toolc on the node {node.name}: {error.cause}") from None
    except ray.exceptions.GetTimeoutError:
        raise
    except ray.exceptions.RayError as error:
        raise NodeDiedError(str(error)) from None
