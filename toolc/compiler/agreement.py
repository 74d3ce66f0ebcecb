"""What the sections of one tool must agree on, each of them being right by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from toolc.compiler import codes
from toolc.compiler.reader import Findings
from toolc.compiler.uses import templates
from toolc.diagnostics import Diagnostic
from toolc.template import Template

if TYPE_CHECKING:
    from toolc.compiler.decode_tool import LocatedTool
    from toolc.spec_http import Url

_IDEMPOTENT_METHODS: Final = ("GET", "HEAD", "OPTIONS", "PUT", "DELETE")
"""The methods that RFC 9110 (9.2.2) calls idempotent."""


def check_agreement(tool: LocatedTool, findings: Findings) -> None:
    """Report where two sections contradict each other; one that could not be read is passed over."""
    for needs, check in _CHECKS:
        if tool.damaged.isdisjoint(needs):
            for each in check(tool):
                findings.add(each.code, each.message, each.span, each.hint)


def _retry(tool: LocatedTool) -> Iterator[Diagnostic]:
    if tool.spec.retry is not None and not tool.spec.annotations.idempotent:
        message = "another attempt may do the work twice: nothing says that this tool is idempotent"
        hint = "if calling it twice does no harm, write annotations: {idempotent: true}; else remove 'retry'"
        yield Diagnostic(codes.BAD_VALUE, message, tool.key_span("retry"), hint)


def _http_retry(tool: LocatedTool) -> Iterator[Diagnostic]:
    backend = tool.spec.backend
    if backend.tag != "http" or backend.retry is None:
        return
    idempotent = tool.spec.annotations.idempotent
    if idempotent is None:
        idempotent = backend.method in _IDEMPOTENT_METHODS
    if not idempotent:
        message = f"another {backend.method} may do the work twice: nothing says that this tool is idempotent"
        hint = "if sending it twice does no harm, write annotations: {idempotent: true}; else remove 'retry'"
        yield Diagnostic(codes.BAD_VALUE, message, tool.key_span("backend", "http", "retry"), hint)


def _url_from_argument(tool: LocatedTool) -> Iterator[Diagnostic]:
    backend = tool.spec.backend
    if backend.tag != "http" or not isinstance(backend.url, Template):
        return
    if not tool.spec.sandbox.network.allow:
        message = "callers choose the host, and 'network' allows none"
        span = tool.key_span("backend", "http", "url_from_argument")
        hint = 'list where they may go: sandbox: {network: {allow: ["*.example.com:443"]}}'
        yield Diagnostic(codes.MISSING_KEY, message, span, hint)
    if backend.auth is not None and backend.auth.tag == "oauth2":
        message = "callers choose the host, and an access token, which has no 'hosts', would go to any of them"
        hint = "write the host out, or send a secret of 'sandbox.secrets', which goes to its own hosts only"
        yield Diagnostic(codes.BAD_VALUE, message, tool.key_span("backend", "http", "auth"), hint)


def _secret_hosts(tool: LocatedTool) -> Iterator[Diagnostic]:
    """A secret that would be sent to a host that its own entry does not list."""
    backend = tool.spec.backend
    if backend.tag != "http":
        return
    secrets = {secret.name: secret for secret in tool.spec.sandbox.secrets}
    auth = backend.auth
    fetched = auth if auth is not None and auth.tag == "oauth2" else None
    sent: tuple[tuple[object, Url | Template], ...] = (
        (backend.query, backend.url),
        (backend.headers, backend.url),
        (backend.body, backend.url),
        (auth, fetched.token_url if fetched else backend.url),
    )
    needed = {
        (name, url.host)
        for part, url in sent
        if not isinstance(url, Template)
        for template in templates(part)
        for name in template.secrets
    }
    for name, host in sorted(needed):
        if name in secrets and secrets[name].hosts and host not in secrets[name].hosts:
            message = f"this tool sends '{name}' to {host}, which is not one of its hosts"
            span = tool.span("sandbox", "secrets", name, "hosts")
            yield Diagnostic(codes.BAD_VALUE, message, span, f"add {host} to its 'hosts', or do not send it there")


def _workspace(tool: LocatedTool) -> Iterator[Diagnostic]:
    if tool.spec.sandbox.workspace != "none":
        return
    if tool.spec.result.files:
        message = "these files stand in the workspace, and this tool has none"
        yield Diagnostic(codes.BAD_VALUE, message, tool.key_span("result", "files"), "add sandbox: {workspace: rw}")
    backend = tool.spec.backend
    body = backend.body if backend.tag == "http" else None
    for part in body.parts if body is not None and body.tag == "multipart" else ():
        if part.is_file:
            span = tool.key_span("backend", "http", "body", "multipart", part.name, "file")
            message = "this file stands in the workspace, and this tool has none"
            yield Diagnostic(codes.BAD_VALUE, message, span, "add sandbox: {workspace: ro}")


_Check = Callable[["LocatedTool"], Iterator[Diagnostic]]
_CHECKS: Final[tuple[tuple[frozenset[str], _Check], ...]] = (
    (frozenset({"retry", "annotations"}), _retry),
    (frozenset({"backend", "annotations"}), _http_retry),
    (frozenset({"backend", "sandbox"}), _url_from_argument),
    (frozenset({"backend", "sandbox"}), _secret_hosts),
    (frozenset({"backend", "sandbox", "result"}), _workspace),
)
