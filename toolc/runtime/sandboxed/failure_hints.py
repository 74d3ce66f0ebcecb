"""Hints for the spec after a call failed because its sandbox lacks a module, a program, or the network."""

import re
from collections.abc import Sequence
from typing import Final

from toolc.backends.content import add_note
from toolc.data.python_modules import PACKAGES, STANDARD_LIBRARY, package_name
from toolc.model.result import ConnectionAttempt, ToolResult
from toolc.model.spec.code_backends import Argv, PluginBackend, PythonBackend, Script, ShellBackend, WhenGroup
from toolc.model.spec.mcp_backend import McpBackend, McpServer
from toolc.model.spec.sandbox import Destination
from toolc.model.spec.tool import ToolSpec
from toolc.model.text import lazy_re
from toolc.runtime.egress.egress_policy import decide
from toolc.version import __version__

_MODULE: Final = lazy_re(r"ModuleNotFoundError: No module named '(?P<name>[\w.]+)'")
_PROGRAM: Final = lazy_re(
    r"(?m)^command not found: (?P<argv>[\w.+-]+)$"  # toolc.guest.processes
    r"|: (?:line )?[0-9]+: (?P<script>[\w.+-]+): (?:command )?not found$"
)
_SHELL_TOOLS: Final = {"curl": "curl", "git": "git", "jq": "jq", "rg": "ripgrep"}
"""The programs of the image ``toolc/shell-tools`` that the base image lacks, with their packages."""

_HOST: Final = r"[\"'\u2018(\[]?(?P<host>[A-Za-z0-9](?:[\w.-]*[\w])?)"
_FAILED_CONNECTIONS: Final = tuple(
    lazy_re(pattern)
    for pattern in (
        r"\[connecting to (?P<host>[^\s\]]+) port (?P<port>\d+)\]",  # toolc.guest.connections
        rf"host={_HOST}', port=(?P<port>\d+)",  # urllib3
        rf"[Ff]ailed to connect to {_HOST} port (?P<port>\d+)",  # curl
        rf"connect to host {_HOST} port (?P<port>\d+)",  # ssh
        rf"Could not resolve (?:host|hostname|proxy)[: ] ?{_HOST}",  # curl, git, ssh
        rf"resolve host address {_HOST}",  # wget
        rf"bad address {_HOST}",  # busybox
        rf"getaddrinfo (?:EAI_AGAIN|ENOTFOUND) {_HOST}",  # node
        rf"lookup {_HOST}(?::| on )",  # go
        rf"translate host name {_HOST}",  # psql
    )
)
"""How programs report a host that they could not connect to."""

_NO_NETWORK: Final = lazy_re(
    r"Temporary failure in name resolution|Network is unreachable|ENETUNREACH|EAI_AGAIN|Name or service not known"
)
"""How programs without a network report the problem, even if they do not name the host."""

MAX_NAMED: Final = 3
"""The maximum number of reasons that the result names. ``details.network`` lists all of them.

With more, a model could overlook the output of the tool.
"""


def explain_failure(result: ToolResult, tool: ToolSpec, allow: Sequence[Destination]) -> ToolResult:
    """If the sandbox lacked something, append the necessary change of the spec to a failed ``result``."""
    if result.error is None:
        return result
    text = result.text
    note = _missing_module(text, tool) or _closed_network(text, tool, allow) or _missing_program(text, tool)
    return add_note(result, note) if note and note not in text else result


def explain_blocked_connections(result: ToolResult, attempts: Sequence[ConnectionAttempt]) -> ToolResult:
    """Add the reasons for failed ``attempts`` to connect to a failed ``result``, unless its text already has them.

    The reasons become the last line of the text. Most clients show only the status of a refused CONNECT, which a
    model attributes to the server. For a host on the allow-list, they see a reset, because the sandbox accepted the
    connection first.
    """
    if result.error is None or result.error.kind == "denied":
        return result
    # Some servers reset every connection after use.
    failed = [each for each in attempts if each.reason and not (each.allowed and each.bytes_in)]
    reasons = [each for each in dict.fromkeys(each.reason for each in failed) if each not in result.text]
    if not reasons:
        return result
    more = f"; and {len(reasons) - MAX_NAMED} more" if len(reasons) > MAX_NAMED else ""
    return add_note(result, f"not connected: {'; '.join(reasons[:MAX_NAMED])}{more}")


def _missing_module(text: str, tool: ToolSpec) -> str:
    backend, match = tool.backend, _MODULE.search(text)
    if match is None or not isinstance(backend, PythonBackend):
        return ""
    name = match["name"].partition(".")[0]
    if name in STANDARD_LIBRARY:
        return f"the Python of this sandbox does not have the module '{name}' of the standard library"
    package = f"{package_name(match['name'])}==VERSION"
    if backend.requirements:
        package = f"{package} to 'requirements'"
    elif tool.sandbox.image is not None or tool.sandbox.build is not None:
        package = f"requirements: [{package}], or install it in the image"
    else:
        package = f"requirements: [{package}], or set sandbox.image to an image that has it"
    hint = f"'{name}' is not in the sandbox; add {package}"
    is_known = name in PACKAGES or any(file.path == f"{name}.py" for file in backend.files)
    return hint if is_known else f"{hint}; for a file next to the spec, add files: [{name}.py]"


def _missing_program(text: str, tool: ToolSpec) -> str:
    """Return a hint for the image if a program is missing from the base image, or else an empty string."""
    match, sandbox = _PROGRAM.search(text), tool.sandbox
    if (
        match is None
        or sandbox.image is not None
        or sandbox.build is not None
        or not isinstance(tool.backend, ShellBackend)
    ):
        return ""
    name = match["argv"] or match["script"]
    image = "an image that has it"
    if name in _SHELL_TOOLS:
        image = f"toolc/shell-tools:{__version__}, which has it (to build it: toolc image build shell-tools)"
    return f"'{name}' is not in the base image; set sandbox.image to {image}"


def _closed_network(text: str, tool: ToolSpec, allow: Sequence[Destination]) -> str:
    """Return a hint for the allow-list if a destination is missing from it, or else an empty string."""
    if not tool.backend.runs_programs:
        return ""
    for pattern in _FAILED_CONNECTIONS:
        if match := pattern.search(text):
            host = match["host"].rstrip(".")
            port = int(match["port"]) if "port" in pattern.groupindex else _port(host, tool)
            decision = decide(allow, host, port)
            if decision.entry is not None or not decision.remedy or host in {"localhost", "127.0.0.1", "::1"}:
                return ""
            if allow:
                return f"not connected: {decision.reason}; to allow it, add {decision.remedy} to sandbox.network.allow"
            return f"not connected: the tool has no network; add {decision.remedy} to sandbox.network.allow"
    if not allow and _NO_NETWORK.search(text):
        return f"not connected: the tool has no network; add {_only_host(tool)} to sandbox.network.allow"
    return ""


def _only_host(tool: ToolSpec) -> str:
    """Return the destination of the URLs in the program of ``tool``, if all have the same host."""
    hosts = set(re.findall(r"\b(?:https?|ftp|ssh)://(?:[^\s/@]*@)?([A-Za-z0-9][\w.-]*)", _program(tool)))
    if len(hosts) != 1:
        return "the host"
    (host,) = hosts
    return decide((), host, _port(host, tool)).remedy or "the host"


def _port(host: str, tool: ToolSpec) -> int:
    """Return the port to which the program of ``tool`` most likely connects, from a URL in it, or else 443."""
    match = re.search(rf"(?P<scheme>[a-z]+)://[^\s/]*{re.escape(host)}(?::(?P<port>[0-9]{{1,5}}))?", _program(tool))
    if match is None:
        return 443
    return int(match["port"]) if match["port"] else {"http": 80, "ftp": 21, "ssh": 22}.get(match["scheme"], 443)


def _program(tool: ToolSpec) -> str:
    match tool.backend:
        case ShellBackend(command=Script(text=text)):
            return text
        case ShellBackend(command=Argv(elements=elements)):
            templates = [each for item in elements for each in (item.argv if isinstance(item, WhenGroup) else (item,))]
            return " ".join(part for template in templates for part in template.parts if isinstance(part, str))
        case PluginBackend(command=command) | McpBackend(server=McpServer(command=command)):
            return " ".join(command)
        case PythonBackend(files=files):
            return "\n".join(file.text or "" for file in files)
        case _:
            return ""
