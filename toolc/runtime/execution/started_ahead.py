"""Start the sandboxes of the tools that the user's configuration names under ``warm``, before any call."""

import logging
from collections.abc import Callable

from toolc.model.errors import ToolcError, UsageError
from toolc.model.registry import RegisteredTool
from toolc.model.spec.code_backends import HostFunction
from toolc.model.spec.http_backend import HttpBackend
from toolc.runtime.execution.admission import check_admission
from toolc.runtime.pool.pool import ExecutorPool
from toolc.runtime.sandboxed.options import CallOptions, build_guest_arguments, preload_of, profile_of, select_approved


def start_ahead(pool: ExecutorPool, options: CallOptions, find: Callable[[str], RegisteredTool]) -> None:
    """Begin to start sandboxes for each named tool, and return when the kind of each sandbox is known.

    The lock, policy and image are checked as before a call, and a tool that may not be called gets no sandbox. Names
    that ``find`` does not know are ignored, because the configuration applies to all registries.
    """
    for name, number in pool.numbers.items():
        try:
            tool = find(name)
        except UsageError:
            continue
        if number and tool.spec.name == name and not options.denied(tool.spec):
            try:
                _start_ahead(tool, pool, options, find)
            except ToolcError as error:
                logging.getLogger("toolc").warning("no sandbox of the tool %r was started ahead: %s", name, error)


def _start_ahead(
    tool: RegisteredTool, pool: ExecutorPool, options: CallOptions, find: Callable[[str], RegisteredTool]
) -> None:
    spec = tool.spec
    check_admission(tool, find, options.lock, options.policy)
    if isinstance(spec.backend, HostFunction) or spec.backend.only_calls or spec.sandbox.lifetime == "fork":
        return
    profile = profile_of(spec, options)
    engine = select_approved(spec, profile, options).engine
    has_network = isinstance(spec.backend, HttpBackend) or bool(spec.sandbox.network.allow)
    guest_arguments = build_guest_arguments(has_network=has_network, preload=preload_of(spec))
    pool.keep(spec.name, engine, profile, guest_arguments)
