"""``toolc doctor``: report the engines of this host, what they enforce, and how to improve it."""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from toolc.cli.common import note
from toolc.model.errors import ToolcError
from toolc.model.names import ENGINES
from toolc.model.text import count_noun

if TYPE_CHECKING:
    from toolc.cluster.messages import NodeEngine
    from toolc.config.configuration import Configuration
    from toolc.doctor.diagnosis import Diagnosis, Probed, Trial
    from toolc.doctor.host_report import EngineReport
    from toolc.model.spec.sandbox import MinIsolation


CANNOT_RUN: Final = 3
"""The exit code if no engine can run a call, or a probe failed."""


@click.command("doctor")
@click.option("--probe", is_flag=True, help="Run calls that try to escape the sandbox, exceed limits and leave traces.")
@click.option("--engine", type=click.Choice(ENGINES), help="Report only this engine.  [default: all]")
@click.option("--address", metavar="auto|HOST:PORT", help="Report the nodes of this Ray cluster instead.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(probe: bool, engine: str | None, address: str | None, as_json: bool) -> None:
    """Report which engines this host has, what each enforces, and how to improve it.

    The report includes known vulnerabilities of the installed versions. Exit code 0: a tool can run; 3: no tool can
    run, or a probe failed.
    """
    if address is not None:
        _report_cluster(address, as_json=as_json)
        return
    from toolc.cli.inputs import user_configuration  # start-up time

    # The report lists the protections that calls lack, so do not print them as warnings too.
    diagnosis = diagnose((engine,) if engine else ENGINES, user_configuration(warn=False), probe=probe)
    if as_json:
        from toolc.doctor.diagnosis import to_json  # start-up time

        print(json.dumps(to_json(diagnosis), indent=2))
    else:
        from toolc.doctor.diagnosis_text import to_text  # start-up time

        sys.stdout.write(to_text(diagnosis))
    if not diagnosis.works:
        raise click.exceptions.Exit(CANNOT_RUN)


def _report_cluster(address: str, *, as_json: bool) -> None:
    """Print a line for each node of a cluster: the engines that it has, and how many calls it runs."""
    from toolc.client.registry import Registry  # start-up time
    from toolc.cluster.ray_executor import RayExecutor  # an optional extra

    with RayExecutor(Registry(), address=address) as executor:
        slots, nodes, refused, pools = executor.max_parallel, executor.nodes, executor.refused, executor.pools()
    waiting = {name: sum(each.waiting for each in pool) for name, pool in pools.items()}
    memory = {name: sum(each.memory_bytes for each in pool) for name, pool in pools.items()}
    if as_json:
        found = [
            {
                "name": node.name,
                "engines": [
                    {"name": each.name, "version": each.version, "isolation": each.isolation, "not_enforced": each.weak}
                    for each in node.report.engines
                ],
                "slots": node.report.slots,
                "warm_sandboxes": waiting.get(node.name, 0),
                "warm_memory_bytes": memory.get(node.name, 0),
            }
            for node in nodes
        ]
        print(json.dumps({"nodes": found, "refused": refused}, indent=2))
    else:
        for node in sorted(nodes, key=lambda each: each.name):
            engines = ", ".join(map(_engine_text, node.report.engines)) or "no engine"
            warm = count_noun(waiting.get(node.name, 0), "warm sandbox", "warm sandboxes")
            print(f"{node.name}: {engines}; runs {node.report.slots} calls at a time; {warm}")
        sys.stdout.writelines(f"{line}\n" for line in refused)
        print(f"{count_noun(len(nodes), 'node')}, {slots if nodes else 0} calls at a time")
    if not any(node.report.engines for node in nodes):
        raise click.exceptions.Exit(CANNOT_RUN)


def diagnose(names: tuple[str, ...], configuration: Configuration, *, probe: bool) -> Diagnosis:
    """Query each engine and run a call with each kind of isolation. With ``probe``, run the probes in addition."""
    from toolc.doctor.diagnosis import Diagnosis  # start-up time
    from toolc.doctor.host_report import report_engines, report_host
    from toolc.doctor.probes import load_probes
    from toolc.runtime.pool.control import reports as pool_reports

    reports = report_engines(names)
    kinds = [(report, offered.isolation) for report in reports for offered in report.capabilities]
    trials = {(report.name, kind): _try(report, kind, configuration) for report, kind in kinds}
    runs = [(report, kind) for report, kind in kinds if probe and not trials[report.name, kind].reason]
    return Diagnosis(
        host=report_host(),
        engines=reports,
        trials=trials,
        pools=tuple(pool_reports()),
        probes=load_probes() if runs else (),
        probed={(report.name, kind): _probe(report, kind, configuration) for report, kind in runs},
    )


def _try(report: EngineReport, isolation: MinIsolation, configuration: Configuration) -> Trial:
    from toolc.client.executor import Executor  # start-up time
    from toolc.doctor.diagnosis import Trial
    from toolc.doctor.probes import load_tools

    with Executor(load_tools(isolation), engine=report.name, configuration=configuration, pool=None) as executor:
        started = time.perf_counter()
        try:
            result = executor.run("python_version", {})
        except ToolcError as error:
            return Trial(reason=str(error))
        milliseconds = (time.perf_counter() - started) * 1000
    if result.is_error:
        return Trial(reason=result.text)
    user, image = str(result.details.get("user", "")), result.details.get("image")
    return Trial(milliseconds=milliseconds, python=result.text, user=user, image=image)


def _probe(report: EngineReport, isolation: MinIsolation, configuration: Configuration) -> Probed:
    from toolc.client.executor import Executor  # start-up time
    from toolc.doctor.diagnosis import Probed
    from toolc.doctor.probes import run_probes

    note(f"probing {report.name}, isolation {isolation}; this takes about 15 seconds")
    make = partial(Executor, engine=report.name, configuration=configuration)
    try:
        return Probed(results=run_probes(make, isolation, configuration.accept_unenforced))
    except ToolcError as error:
        return Probed(reason=str(error))


def _engine_text(engine: NodeEngine) -> str:
    weak = f"; not enforced: {', '.join(engine.weak)}" if engine.weak else ""
    return f"{engine.name} {engine.version} ({', '.join(engine.isolation)}{weak})"
