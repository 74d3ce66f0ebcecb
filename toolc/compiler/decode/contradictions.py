"""Check that the sections of one tool, each valid alone, do not contradict each other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from toolc.compiler.templates.expressions import templates_in
from toolc.document.map_reader import Findings
from toolc.document.nodes import Mapping
from toolc.model import codes
from toolc.model.destinations import is_loopback
from toolc.model.diagnostics import Diagnostic
from toolc.model.json_schema import Schema, list_index, pointer_tokens
from toolc.model.template import JsonConstant, JsonList, JsonMap, JsonTemplate, Template

if TYPE_CHECKING:
    from toolc.compiler.located_tool import LocatedTool
    from toolc.model.spec.http_backend import HttpBackend, Url
    from toolc.model.spec.tool import ToolSpec


_IDEMPOTENT_METHODS: Final = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE")
"""The methods that RFC 9110 (section 9.2.2) defines as idempotent."""

_REQUEST_KEYS: Final = frozenset({"network", "secrets"})
"""The keys of ``sandbox`` that apply to the requests to a sub-agent's model, or to an MCP server at a URL."""

_SERVER_LIMITS: Final = frozenset({"timeout", "output"})
"""The limits that apply to calls of an MCP server at a URL."""

_WITHOUT_SANDBOX: Final = {
    "agent": ("a sub-agent", "set it in the specs of the tools that it calls"),
    "composite": ("a composite", "set it in the specs of the tools that its steps call"),
    "mcp": ("a server at a URL", "remove it"),
}
"""The backends without a sandbox, and where its settings belong."""

_Check = Callable[["LocatedTool"], Iterator[Diagnostic]]

_CODINGS: Final = frozenset({"gzip", "x-gzip", "deflate", "identity"})
"""The content codings that toolc can decode in a response."""

_CONTAINER_TYPES: Final = frozenset({"object", "array", "null"})
"""The types that can contain a cursor, or in which one can be created."""


def check_contradictions(tool: LocatedTool, findings: Findings) -> None:
    """Report contradictions between sections. Sections that could not be read are skipped."""
    for needs, check in _CHECKS:
        if tool.damaged.isdisjoint(needs):
            for each in check(tool):
                findings.add(each.code, each.message, each.span, each.hint)


def _retry(tool: LocatedTool) -> Iterator[Diagnostic]:
    if tool.spec.retry is not None and not tool.spec.annotations.idempotent:
        message = "another attempt may do the work twice: this tool is not declared idempotent"
        hint = "if calling it twice does no harm, write annotations: {idempotent: true}; otherwise remove 'retry'"
        yield Diagnostic(codes.BAD_VALUE, message, tool.key_span("retry"), hint)


def _http(tool: LocatedTool) -> Iterator[Diagnostic]:
    if tool.spec.backend.tag == "http":
        yield from _headers(tool, tool.spec.backend)
        yield from _body(tool, tool.spec.backend)
        yield from _cursor(tool, tool.spec.backend)
    if tool.spec.backend.request is not None:
        yield from _plain_secrets(tool, tool.spec.backend.request)


def _http_retry(tool: LocatedTool) -> Iterator[Diagnostic]:
    backend = tool.spec.backend
    if backend.tag != "http" or backend.retry is None:
        return
    idempotent = tool.spec.annotations.idempotent
    if idempotent is None:
        idempotent = backend.method in _IDEMPOTENT_METHODS
    if not idempotent:
        message = f"another {backend.method} may do the work twice: this tool is not declared idempotent"
        hint = "if sending it twice does no harm, write annotations: {idempotent: true}; otherwise remove 'retry'"
        yield Diagnostic(codes.BAD_VALUE, message, tool.key_span("backend", "http", "retry"), hint)


def _url_from_argument(tool: LocatedTool) -> Iterator[Diagnostic]:
    backend = tool.spec.backend
    if backend.tag != "http" or not isinstance(backend.url, Template):
        return
    if not tool.spec.sandbox.network.allow:
        message = "callers choose the host, but 'network' allows none"
        span = tool.key_span("backend", "http", "url_from_argument")
        hint = 'list the allowed hosts: sandbox: {network: {allow: ["*.example.com:443"]}}'
        yield Diagnostic(codes.MISSING_KEY, message, span, hint)
    if backend.auth is not None and backend.auth.tag == "oauth2":
        message = "callers choose the host, so an access token, which has no 'hosts', could be sent to any host"
        hint = "write a constant host, or send a secret of 'sandbox.secrets', which is sent to its own hosts only"
        yield Diagnostic(codes.BAD_VALUE, message, tool.key_span("backend", "http", "auth"), hint)


def _secret_hosts(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Yield a finding for each secret that would be sent to a host missing from its ``hosts``."""
    secrets = {secret.name: secret for secret in tool.spec.sandbox.secrets}
    for name, host in sorted(set(_sent_secrets(tool))):
        if name in secrets and secrets[name].hosts and host not in secrets[name].hosts:
            message = f"this tool sends '{name}' to {host}, which is not one of its hosts"
            span = tool.span("sandbox", "secrets", name, "hosts")
            yield Diagnostic(codes.BAD_VALUE, message, span, f"add {host} to its 'hosts', or do not send it there")


def _sent_secrets(tool: LocatedTool) -> Iterator[tuple[str, str]]:
    """Yield the name of each secret that the backend sends, and the host that receives it if it is constant."""
    if tool.spec.backend.tag == "agent" and tool.spec.backend.api_key is not None:
        yield from ((name, tool.spec.backend.base_url.host) for name in tool.spec.backend.api_key.secrets)
    backend = tool.spec.backend.request
    if backend is None:
        return
    auth = backend.auth
    fetched = auth if auth is not None and auth.tag == "oauth2" else None
    sent: tuple[tuple[object, Url | Template], ...] = (
        ((backend.query, backend.headers, backend.cookies, backend.body), backend.url),
        (auth, fetched.token_url if fetched else backend.url),
    )
    for part, url in sent:
        if not isinstance(url, Template):
            yield from ((name, url.host) for template in templates_in(part) for name in template.secrets)


def _workspace(tool: LocatedTool) -> Iterator[Diagnostic]:
    if tool.spec.sandbox.workspace != "none":
        return
    if tool.spec.result.files:
        message = "these files are in the workspace, but this tool has none"
        yield Diagnostic(codes.BAD_VALUE, message, tool.key_span("result", "files"), "add sandbox: {workspace: rw}")
    backend = tool.spec.backend
    body = backend.body if backend.tag == "http" else None
    routes: list[tuple[str, ...]] = [("file",)] if body is not None and body.tag == "file" else []
    if body is not None and body.tag == "multipart":
        routes = [("multipart", part.name, "file") for part in body.parts if part.is_file]
    for route in routes:
        span = tool.key_span("backend", "http", "body", *route)
        message = "this file is in the workspace, but this tool has none"
        yield Diagnostic(codes.BAD_VALUE, message, span, "add sandbox: {workspace: ro}")


def _lifetime(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Yield a finding for ``lifetime: session`` without a process, or with one transaction per call."""
    sandbox, backend = tool.spec.sandbox, tool.spec.backend
    span = tool.key_span("sandbox", "lifetime")
    if sandbox.lifetime == "fork" and (message := _fork_obstacle(tool.spec)):
        yield Diagnostic(codes.BAD_VALUE, message, span, "write 'lifetime: call'")
    if sandbox.lifetime != "session":
        return
    if "session" not in backend.lifetimes:
        message = f"'backend.{backend.tag}' has no process that could be kept between calls"
        yield Diagnostic(codes.BAD_VALUE, message, span, "remove 'lifetime: session'")
    elif sandbox.workspace == "transaction":
        message = "a transaction begins and ends with a call, but the calls of a session share a sandbox"
        yield Diagnostic(codes.BAD_VALUE, message, span, "write 'lifetime: call', or 'workspace: rw'")


def _fork_obstacle(tool: ToolSpec) -> str | None:
    """Return why calls of ``tool`` cannot be processes of a fork server, or None if they can."""
    sandbox, backend = tool.sandbox, tool.backend
    if "fork" not in backend.lifetimes:
        return (
            f"a fork server makes processes for 'backend.python' and 'backend.shell', not for 'backend.{backend.tag}'"
        )
    if sandbox.network.allow:
        return "the calls of a fork server have no network"
    if sandbox.workspace == "transaction":
        return "a transaction begins and ends with a call, but the calls of a fork server share its workspace"
    if sandbox.image or sandbox.build:
        return "a fork server has capabilities, so its Python must not come from the image of a tool"
    if sandbox.min_isolation != "namespace":
        return f"a fork server isolates calls by namespaces, which 'min_isolation: {sandbox.min_isolation}' forbids"
    return None


def _plugin_secrets(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Yield a finding for each secret in a plugin's environment that must stay outside the sandbox."""
    hidden = {secret.name for secret in tool.spec.sandbox.secrets if secret.expose == "broker"}
    for variable in tool.spec.sandbox.secret_env:
        for name in sorted(variable.value.secrets & hidden):
            message = f"the plugin would receive '{name}', which is not exposed to it"
            hint = f"if it may read the value, write secrets: {{{name}: {{expose: env}}}}"
            yield Diagnostic(codes.BAD_VALUE, message, tool.key_span("sandbox", "env", variable.name), hint)


def _no_sandbox(tool: LocatedTool) -> Iterator[Diagnostic]:
    """Yield a finding for each sandbox setting, except defaults, of a tool that has no sandbox."""
    backend, sandbox = tool.spec.backend, tool.node.get("sandbox")
    if not backend.only_calls or not isinstance(sandbox, Mapping):
        return
    is_server = backend.tag == "mcp"
    limits = sandbox.get("limits") if is_server else None
    refused = [each for each in limits.entries if each.key not in _SERVER_LIMITS] if isinstance(limits, Mapping) else []
    refused += [
        each
        for each in sandbox.entries
        if each.key not in {"lifetime", "limits"} and (backend.tag == "composite" or each.key not in _REQUEST_KEYS)
    ]
    who, hint = _WITHOUT_SANDBOX[backend.tag]
    for entry in refused:
        if not any(default.span.covers(entry.key_span) for default in tool.defaults):
            message = f"{who} has no sandbox, so '{entry.key}' would have no effect"
            yield Diagnostic(codes.BAD_VALUE, message, entry.key_span, hint)
    for secret in tool.spec.sandbox.secrets if is_server else ():
        if secret.expose != "broker":
            span = tool.key_span("sandbox", "secrets", secret.name)
            message = f"a server at a URL has no sandbox, so '{secret.name}' cannot be exposed in it"
            hint = f"write {{{{ secrets.{secret.name} }}}} in 'headers' or 'auth'"
            yield Diagnostic(codes.BAD_VALUE, message, span, hint)


def _agent(tool: LocatedTool) -> Iterator[Diagnostic]:
    if tool.spec.backend.tag != "agent":
        return
    if tool.spec.result.format == "image":
        message = "a sub-agent returns text or JSON"
        yield Diagnostic(codes.BAD_VALUE, message, tool.key_span("result", "format"), "write text, json or none")
    if tool.spec.caller:
        message = "a sub-agent sends its arguments to a model, so none of them can have 'from'"
        yield Diagnostic(codes.BAD_VALUE, message, tool.key_span("parameters"), "use 'from' in the tools that it calls")


_CHECKS: Final[tuple[tuple[frozenset[str], _Check], ...]] = (
    (frozenset({"retry", "annotations"}), _retry),
    (frozenset({"backend", "annotations"}), _http_retry),
    (frozenset({"backend", "result"}), _http),
    (frozenset({"backend", "sandbox"}), _url_from_argument),
    (frozenset({"backend", "sandbox"}), _secret_hosts),
    (frozenset({"backend", "sandbox"}), _no_sandbox),
    (frozenset({"backend", "result", "parameters"}), _agent),
    (frozenset({"backend", "sandbox", "result"}), _workspace),
    (frozenset({"backend", "sandbox"}), _lifetime),
    (frozenset({"sandbox"}), _plugin_secrets),
)


def _headers(tool: LocatedTool, backend: HttpBackend) -> Iterator[Diagnostic]:
    for each in backend.headers:
        span = tool.key_span("backend", "http", "headers", each.name)
        name = each.name.lower()
        if name == "content-type" and backend.body is not None and backend.body.tag == "multipart":
            message = "this header would replace the one that defines the boundary between the parts of the body"
            yield Diagnostic(codes.BAD_VALUE, message, span, "remove it")
        if name == "cookie" and backend.cookies:
            yield Diagnostic(codes.BAD_VALUE, "'cookies' sets this header too", span, "write all of them in 'cookies'")
        if name == "accept-encoding" and not each.value.names:
            asked = re.findall(r"(?:^|,)\s*([^\s,;]+)", each.value.render({}).lower())
            if unknown := sorted(set(asked) - _CODINGS):
                message = f"a response that is encoded as '{unknown[0]}' could not be read"
                yield Diagnostic(codes.BAD_VALUE, message, span, "remove it: toolc requests gzip and deflate")


def _body(tool: LocatedTool, backend: HttpBackend) -> Iterator[Diagnostic]:
    result = tool.spec.result
    pages = tool.key_span("backend", "http", "pagination") if backend.pagination else None
    if backend.method == "HEAD":
        message = "the response to a HEAD request has no body"
        spans = [pages, tool.key_span("result", "schema") if tool.spec.result_schema is not None else None]
        yield from (Diagnostic(codes.BAD_VALUE, message, span, "write method: GET") for span in spans if span)
    elif pages and result.format in {"image", "none"}:
        message = f"pages are combined as JSON, so the format cannot be '{result.format}'"
        yield Diagnostic(codes.BAD_VALUE, message, tool.key_span("result", "format"), "write format: json")


def _cursor(tool: LocatedTool, backend: HttpBackend) -> Iterator[Diagnostic]:
    style = backend.pagination.style if backend.pagination else None
    if style is None or style.tag != "cursor" or style.pointer is None:
        return
    span = tool.span("backend", "http", "pagination", "cursor", "pointer")
    if backend.body is None or backend.body.tag != "json":
        message = "this cursor is in a JSON body, but the request has none"
        yield Diagnostic(codes.BAD_VALUE, message, span, "write body: {json: ...}; parameter is for the query")
    elif not _has_place(backend.body.value, pointer_tokens(style.pointer), tool.spec.all_parameters):
        message = f"the body cannot contain a cursor at {style.pointer}"
        yield Diagnostic(codes.BAD_VALUE, message, span, "each part except the last must lead to an object or a list")


def _has_place(template: JsonTemplate, path: list[str], parameters: Schema) -> bool:
    """Return whether a JSON Pointer with the tokens ``path`` may lead to a place for a value."""
    if not path:
        return True
    name, *others = path
    match template:
        case Template():
            return _may_be_container(template, parameters)
        case JsonMap(entries=entries):
            return all(_has_place(each.value, others, parameters) for each in entries if each.key == name)
        case JsonList(items=items):
            index = list_index(name)
            return index is not None and index < len(items) and _has_place(items[index], others, parameters)
        case JsonConstant(value=value):
            return value is None


def _may_be_container(template: Template, parameters: Schema) -> bool:
    """Return whether the template may become an object or array: a sole placeholder keeps the argument's type."""
    if template.sole_placeholder is None or template.secrets:
        return False
    declared = [parameters.properties.get(name, {}).get("type") for name in template.names]
    types = [each if isinstance(each, list) else [each] for each in declared if each is not None]
    return all(any(name in _CONTAINER_TYPES for name in each) for each in types)


def _plain_secrets(tool: LocatedTool, backend: HttpBackend) -> Iterator[Diagnostic]:
    auth = backend.auth
    fetched = auth if auth is not None and auth.tag == "oauth2" else None
    sent: tuple[tuple[object, Url | Template, tuple[str, ...]], ...] = (
        ((backend.query, backend.headers, backend.cookies, backend.body, auth), backend.url, ("url",)),
        (fetched, fetched.token_url if fetched else backend.url, ("auth", "oauth2", "token_url")),
    )
    for parts, url, place in sent:
        if isinstance(url, Template) or url.scheme == "https" or is_loopback(url.host):
            continue
        names = sorted({name for template in templates_in(parts) for name in template.secrets})
        if names:
            message = f"the secret '{names[0]}' is sent over TLS only, but this URL is http"
            span = tool.span(*tool.spec.backend.request_route, *place)
            yield Diagnostic(codes.BAD_VALUE, message, span, "write https://")
