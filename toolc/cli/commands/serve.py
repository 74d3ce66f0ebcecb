"""``toolc serve``: serve tools over stdio to the program that started the command, or over HTTP."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from toolc.cli.call_options import CallOptions, call_options, exported
from toolc.cli.common import builtin_option, deny_option, duration, nearest_lock, note
from toolc.cli.http_options import HttpOptions, http_options, print_start
from toolc.cli.inputs import user_configuration
from toolc.cli.targets import open_tools, refuse_disallowed, refuse_unapproved
from toolc.client.registry import Registry
from toolc.compiler.pipeline.gc_pause import gc_paused
from toolc.config.configuration import ClientSettings
from toolc.config.user_config import configuration_source
from toolc.dataclass import dataclass, replace
from toolc.model.call import Confirm
from toolc.model.errors import MissingExtraError, UsageError
from toolc.model.lock_file import Lock
from toolc.model.spec.policy import Policy
from toolc.model.spec.tool import MAX_RESULT_CHARS, MIN_RESULT_CHARS
from toolc.model.text import count_noun
from toolc.runtime.execution.admission import unsupported_features
from toolc.runtime.workspace.mount import mount
from toolc.serve.confirmations import refuse
from toolc.serve.mcp_options import McpOptions
from toolc.serve.offered import check_denied, check_search, deny, needing_workspace, without
from toolc.version import __version__

if TYPE_CHECKING:
    from toolc.client.executor import Executor
    from toolc.serve.http.settings import HttpSettings
    from toolc.serve.page.reports import Sources
    from toolc.serve.search.finding_tools import FindingTools


@click.command("serve")
@click.argument("target", metavar="[TARGET]", required=False)
@builtin_option
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="NAME",
    help="Serve this tool to a plugin host instead of MCP. May be repeated.",
)
@click.option(
    "--toolset",
    "toolsets",
    multiple=True,
    metavar="NAME",
    help="Serve only the tools of this toolset. May be repeated.",
)
@deny_option
@click.option("--workspace", metavar="DIR", help="The workspace of the calls. There is no default.")
@click.option(
    "--max-result",
    type=click.IntRange(MIN_RESULT_CHARS, MAX_RESULT_CHARS),
    default=80_000,
    metavar="N",
    help="The maximum length of a result in characters, if the spec has no result.max_chars. Default: 80000.",
)
@click.option(
    "--search", is_flag=True, help="List three tools that find, describe and call the others, instead of all tools."
)
@click.option(
    "--direct",
    multiple=True,
    metavar="NAME|TAG",
    help="With --search, keep the tools with this name or tag in the list. May be repeated.",
)
@click.option(
    "--task-threshold",
    metavar="TIME",
    default="30s",
    callback=duration,
    show_default=True,
    help="If the tool's time limit is above this, clients that support tasks get a task.",
)
@click.option(
    "--only-tasks",
    metavar="TIME",
    callback=duration,
    help="If the tool's time limit is above this, refuse clients that do not support tasks. Default: never.",
)
@http_options
@call_options
def command(  # noqa: PLR0913  one parameter per option
    target: str | None,
    *,
    builtin: str | None,
    plugins: tuple[str, ...],
    toolsets: tuple[str, ...],
    denied: tuple[str, ...],
    workspace: str | None,
    max_result: int,
    search: bool,
    direct: tuple[str, ...],
    task_threshold: float,
    only_tasks: float | None,
    http: HttpOptions,
    options: CallOptions,
) -> None:
    """Serve tools to an MCP client over stdin and stdout, or to several clients over HTTP.

    TARGET is a spec file, a folder of specs, or a registry.json. To serve built-in tools instead, use --builtin. Over
    stdio, the command exits at the end of its input.
    """
    settings, options = http.settings(), replace(options, max_result_chars=max_result)
    if plugins and settings:
        raise UsageError("--plugin serves over stdio only; remove --http")
    if plugins and search:
        raise UsageError("--plugin serves the tools that it names; remove --search")
    finding = _finding(direct) if search else None
    mcp = McpOptions(finding=finding, task_seconds=task_threshold, only_task_seconds=only_tasks)
    serve = _as_plugin if plugins else _mcp(mcp)
    from toolc.client.executor import Executor  # start-up time
    from toolc.runtime.output.truncation import READ_RESULT

    def load(lock: Lock | None) -> Registry:
        registry = reviewed(open_tools(target, builtin), lock, options.policy, toolsets)
        check_search(registry, (), is_on=search)  # a reload may remove a tool that --direct names
        return registry

    # Nothing of the tools is garbage, so the collector need not look at them: neither now nor between calls.
    with gc_paused():
        registry = load(options.lock)
    gc.freeze()
    if plugins:
        registry = registry.only(*plugins)
    folder = Path(workspace) if workspace is not None else None
    check_denied(registry, denied)
    check_search(registry, direct, is_on=search)
    if settings:
        from toolc.serve.page.reports import Sources

        source = None if target is None else Path(target.partition("#")[0])
        # The page shows the nearest lock file, even if it restricts no calls.
        lock = nearest_lock() if options.lock is None else Path(options.lock.path)
        results = Path(http.results) if http.results else None
        sources = Sources(source, lock, results, restrictions(options))
        reload = Reload(load, options.lock, sources, is_watched=http.watch)
        _over_http(settings, registry, options, folder, denied, reload, mcp)
        return
    offered = usable(registry, folder)
    # A plugin host calls only the tools that it names.
    keep_results = not plugins and READ_RESULT not in registry
    confirm = refuse if http.confirm == "refuse" else None
    bound = options.bound_to(Executor)

    def open_executor(workspace: Path | None) -> Executor:
        tools = offered if workspace is None else registry
        executor = bound(tools, workspace=workspace, keep_results=keep_results, confirm=confirm)
        deny(executor, denied)
        return executor

    if offered is not registry and not plugins:
        _with_roots(open_executor, mcp)
        return
    with open_executor(folder) as executor:
        serve(executor)


def _with_roots(open_executor: Callable[[Path | None], Executor], mcp: McpOptions) -> None:
    """Serve MCP over stdio with the client's only root as the workspace."""
    from toolc.serve.client_roots import RootWorkspace
    from toolc.serve.mcp import make_shared_server
    from toolc.serve.mcp_stdio import serve_stdio
    from toolc.serve.served_client import ServedClient, ServerCalls

    client = ServedClient("stdio", open_executor(None), ServerCalls())
    with closing(RootWorkspace(client, open_executor)) as roots:
        server = make_shared_server(
            lambda _: client, lambda: client.executor.registry, version=__version__, tools_change=True, options=mcp
        )
        server.middleware.append(roots)
        serve_stdio(server)


def _as_plugin(executor: Executor) -> None:
    from toolc.serve.plugin_server import PluginServer, serve_plugin  # start-up time

    serve_plugin(PluginServer(executor, [*executor.registry]))


def _finding(direct: tuple[str, ...]) -> FindingTools:
    with _optional_extra():
        from toolc.serve.search.finding_tools import FindingTools
    return FindingTools(direct)


def _mcp(mcp: McpOptions) -> Callable[[Executor], None]:
    """Return the function that serves MCP over stdio. Raises ``MissingExtraError``."""
    with _optional_extra():
        from toolc.serve.mcp import make_server
        from toolc.serve.mcp_stdio import serve_stdio
    return lambda executor: serve_stdio(make_server(executor, version=__version__, options=mcp))


def _over_http(
    settings: HttpSettings,
    registry: Registry,
    options: CallOptions,
    workspace: Path | None,
    denied: tuple[str, ...],
    reload: Reload,
    mcp: McpOptions,
) -> None:
    with _optional_extra():
        from toolc.serve.http.application import make_app
        from toolc.serve.http.gate import LOCAL
        from toolc.serve.http.host import ClientSettingsFile, HttpHost
        from toolc.serve.http.listener import serve_http
        from toolc.serve.http.reload import Reloader
        from toolc.serve.http.sign_in import SignIn
        from toolc.serve.http.telemetry import Watched, prometheus_meter
    from toolc.client.executor import Executor  # start-up time
    from toolc.runtime.output.truncation import READ_RESULT
    from toolc.runtime.pool.keeper import KEEPER
    from toolc.sandbox.selection import check_works
    from toolc.serve.tokens import TokenFile
    from toolc.telemetry.metrics import Metrics
    from toolc.testing.recorded_results import read_results

    paths, load = configuration_source(settings.config)
    clients = ClientSettingsFile(paths, load)
    if issuers := clients.current().issuers:
        settings = replace(settings, issuers=issuers, requires_token=True)
    tokens = TokenFile()
    if not tokens.tokens() and not issuers and (settings.requires_token or not settings.is_loopback):
        raise UsageError(
            f"{settings.host} can be reached from other machines, so clients need a token, but there are none; create "
            "one with: toolc token create NAME"
            if not settings.is_loopback
            else "--require-token: there are no tokens; create one with: toolc token create NAME"
        )
    if workspace is None and (left_out := needing_workspace(registry)):
        only = f"only clients with a workspace can call {count_noun(len(left_out), 'tool')}"
        note(f"{only}; set one with --workspace DIR, or for each client in the configuration")
    sources = reload.sources
    if sources.results:
        read_results(sources.results)  # refuses a wrong file at the start
    configuration = user_configuration(path=settings.config)
    base = options.bound_to(Executor, configuration=configuration)
    traces, otlp_metrics = exported()
    meter = prometheus_meter(settings.metrics_address)
    own_metrics = Metrics(meter) if meter else None
    observers = (*traces, own_metrics.observe) if own_metrics else traces
    metrics = [each for each in (otlp_metrics, own_metrics) if each]

    def open_executor(tools: Registry, name: str, client: ClientSettings, confirm: Confirm | None) -> Executor:
        return base(
            tools, workspace=client.workspace, secrets=base.keywords["secrets"].extended(client.secrets),
            keep_results=READ_RESULT not in tools, confirm=confirm, client=name, observers=observers,
        )  # fmt: skip

    host = HttpHost(
        registry, open_executor, settings=clients, workspace=workspace,
        denied=denied, confirm=settings.confirm, mcp=mcp,
    )  # fmt: skip
    host.metrics = meter.text if meter and settings.metrics_address is None else None
    for each in metrics:
        each.report(lambda: len(host.calls.running), KEEPER.waiting)
    if not all(tool.backend.only_calls for tool in registry):
        check_works(options.engine or configuration.engine)
    sign_in, reloader = SignIn(tokens.named), Reloader(host, reload.load, reload.watched)
    serve_http(
        lambda bound: Watched(
            make_app(host, bound, tokens.find, reloader, sign_in, sources), metrics, has_traces=bool(traces)
        ), host, settings,
        lambda bound: print_start(bound, len(registry), sign_in.new_link(LOCAL, bound)),
    )  # fmt: skip


_EXTRA: Final = frozenset({"anyio", "jwt", "mcp", "mcp_types", "pydantic", "starlette", "uvicorn"})
"""The modules of ``toolc[serve]``."""


@contextmanager
def _optional_extra() -> Iterator[None]:
    """Raise ``MissingExtraError`` if an import fails because the packages for servers are not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in _EXTRA:
            raise MissingExtraError("toolc serve", "serve") from None
        raise


@dataclass(frozen=True, slots=True)
class Reload:
    """Loads the tools again from the target of ``sources``. Built-in tools do not change."""

    read: Callable[[Lock | None], Registry]
    lock: Lock | None
    sources: Sources
    is_watched: bool

    @property
    def watched(self) -> tuple[Path, ...]:
        """The files and folders that ``--watch`` compares."""
        paths = (self.sources.target, None if self.lock is None else Path(self.lock.path))
        return tuple(each for each in paths if each) if self.is_watched else ()

    def load(self) -> tuple[Registry, Lock | None]:
        """Return the current tools and the lock file. Specs are compiled in another process, which fills the cache."""
        lock = None if self.lock is None else Lock.read(Path(self.lock.path))
        if self.sources.specs:
            command = [sys.executable, "-P", "-m", "toolc", "list", str(self.sources.specs)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
            if done.returncode:
                raise UsageError(done.stderr.strip())
        return self.read(lock), lock


def restrictions(options: CallOptions) -> tuple[str, ...]:
    """Return the options that give ``toolc test`` the same restrictions as these options."""
    values = {
        "--engine": options.engine,
        "--lock": options.lock and options.lock.path,
        "--policy": options.policy and options.policy.path,
    }
    return tuple(word for name, value in values.items() if value for word in (name, str(value)))


def reviewed(registry: Registry, lock: Lock | None, policy: Policy | None, toolsets: tuple[str, ...]) -> Registry:
    """Return the tools of the toolsets, or all tools if there are none.

    Raises ``UsageError``, ``LockError`` and ``PolicyError``.
    """
    if lock is not None:
        refuse_unapproved(lock, registry)
    if policy is not None:
        refuse_disallowed(policy, registry)
    if toolsets:
        registry = registry.only(*(name for each in toolsets for name in registry.toolset(each).names))
    check_ready(registry)
    return registry


def usable(registry: Registry, workspace: Path | None) -> Registry:
    """If there is no workspace, return the registry without the tools that need one, and print a note.

    Raises ``UsageError`` if the workspace cannot be used.
    """
    if workspace is not None:
        mount(workspace, "ro")
        return registry
    if left_out := needing_workspace(registry):
        note(f"{', '.join(left_out)}: left out, because there is no workspace; set one with: --workspace DIR")
    return without(registry, left_out)


def check_ready(registry: Registry) -> None:
    """Raise ``UsageError`` if a tool uses a feature that this host does not support."""
    reasons = [reason for tool in registry if (reason := unsupported_features(tool))]
    if reasons:
        raise UsageError("\n".join([*reasons, "serve a file or SPEC#NAME without these tools"]))
