"""The options of every command that runs calls, and how they configure an executor."""

from __future__ import annotations

import logging
import os
import resource
from collections.abc import Callable, Mapping
from functools import cache, partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from toolc.cli.common import central_policy, engine_option, nearest_lock, policy_option
from toolc.cli.inputs import user_configuration
from toolc.config.configuration import Configuration
from toolc.config.secret_sources import SecretSource, SecretStore
from toolc.dataclass import dataclass
from toolc.model.lock_file import Lock
from toolc.model.names import LOCK_NAME
from toolc.model.spec.policy import Policy

if TYPE_CHECKING:
    from toolc.telemetry.metrics import Metrics
    from toolc.telemetry.observation import Observer

T = TypeVar("T")

_secrets = click.option("--secrets", metavar="FILE", help="A file with one secret per line, as 'NAME: value'.")
_locked = click.option("--locked", is_flag=True, help="Call only tools that the nearest toolc.lock approves.")
_lock = click.option("--lock", "lock_file", metavar="FILE", help="Call only tools that this lock file approves.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """The values of ``--engine`` and ``--secrets``, and the lock and the policy that restrict which tools may run.

    ``lock`` comes from ``--locked`` or ``--lock``, and ``policy`` from ``--policy``. Each is None without its option.
    A server sets ``max_result_chars``.
    """

    engine: str | None
    secrets: str | None
    lock: Lock | None
    policy: Policy | None
    max_result_chars: int | None = None

    def bound_to(
        self,
        executor: Callable[..., T],
        *,
        only_given_secrets: bool = False,
        configuration: Configuration | None = None,
    ) -> partial[T]:
        """Return the class ``Executor`` with these options and the user's configuration. Raises ``UsageError``.

        Commands import the class themselves when they need it. A secret is looked up in the file of ``--secrets``, the
        configuration and the environment, in this order. With ``only_given_secrets``, it must be in the file.
        """
        configuration = configuration or user_configuration()
        _leave_no_core()
        given: Mapping[str, SecretSource] = {}
        if self.secrets is not None:
            from toolc.config.files import load_secrets  # lazy: +10 ms; only --secrets needs it

            given = load_secrets(Path(self.secrets))
        known = given if only_given_secrets else {**configuration.secrets, **given}
        served = {} if self.max_result_chars is None else {"max_result_chars": self.max_result_chars}
        return partial(
            executor, engine=self.engine, configuration=configuration, lock=self.lock, policy=self.policy,
            secrets=SecretStore(known, from_environment=not only_given_secrets), observers=exported()[0],
            **served,
        )  # fmt: skip


@cache
def exported() -> tuple[tuple[Observer, ...], Metrics | None]:
    """Return the observers that export calls to the collector in the environment. The first call starts them."""
    has_traces, has_metrics = map(_has_collector, ("TRACES", "METRICS"))
    if not (has_traces or has_metrics):
        return (), None
    try:
        from toolc.telemetry import metrics, otlp_meter, spans  # lazy: +150 ms (the SDK); only with a collector
    except ModuleNotFoundError:
        logging.getLogger("toolc").warning(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but nothing is exported; run: pip install 'toolc[otel]'"
        )
        return (), None
    traces = (spans.export_spans(),) if has_traces else ()
    exporting = metrics.Metrics(otlp_meter.OtlpMeter()) if has_metrics else None
    return (*traces, exporting.observe) if exporting else traces, exporting


def _has_collector(signal: str) -> bool:
    """Return whether the environment names a collector of ``TRACES`` or ``METRICS``."""
    is_set = any(os.environ.get(f"OTEL_EXPORTER_OTLP_{each}ENDPOINT") for each in ("", f"{signal}_"))
    return is_set and os.environ.get(f"OTEL_{signal}_EXPORTER") != "none"


def _leave_no_core() -> None:
    """Disable core dumps and the host's crash handler for this process, because its memory contains secrets."""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    # Unlike 0, 1 also prevents the kernel from running a handler, see core(5).
    resource.setrlimit(resource.RLIMIT_CORE, (0 if hard == 0 else 1, hard))


def call_options(command: Callable[..., T]) -> Callable[..., T]:
    """Add the options to ``command``, which receives a ``CallOptions`` as its argument ``options``.

    The command raises ``LockError`` and ``UsageError`` if the lock or the policy cannot be read.
    """

    @engine_option
    @_secrets
    @_locked
    @_lock
    @policy_option
    @wraps(command)
    def collected(
        engine: str | None, secrets: str | None, locked: bool, lock_file: str | None, policy_file: str | None,
        **others: object,
    ) -> T:  # fmt: skip
        path = Path(lock_file) if lock_file is not None else (nearest_lock() or Path(LOCK_NAME)) if locked else None
        lock, policy = Lock.read(path) if path is not None else None, central_policy(policy_file)
        return command(options=CallOptions(engine=engine, secrets=secrets, lock=lock, policy=policy), **others)

    return collected
