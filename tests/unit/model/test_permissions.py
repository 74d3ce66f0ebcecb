"""Tests for the permissions of a tool and of the tools that it calls."""

from dataclasses import replace

import pytest

from toolc.model.call_graph import tools_by_name
from toolc.model.json_schema import Schema
from toolc.model.permissions import OWN, Grant, permissions_of
from toolc.model.spec.code_backends import Argv, PythonBackend, ShellBackend
from toolc.model.spec.composed_backends import CompositeBackend, Step
from toolc.model.spec.http_backend import HttpBackend, OAuth2Auth, Url
from toolc.model.spec.sandbox import Destination, Limit, Limits, NetworkSpec, SandboxSpec, SecretSpec, TransactionSpec
from toolc.model.spec.tool import ToolSpec
from toolc.model.template import Template


def host(name: str, port: int = 443) -> Destination:
    return Destination(kind="exact", host=name, port=port)


SHELL = ToolSpec(
    name="fetch",
    description="Fetch.",
    parameters=Schema({"type": "object"}),
    backend=ShellBackend(command=Argv(elements=(Template(("curl",)),))),
    sandbox=SandboxSpec(
        image="curl:8",
        workspace="transaction",
        transaction=TransactionSpec(writes=("out/*",)),
        network=NetworkSpec(allow=(host("b.example"), host("a.example"))),
        secrets=(SecretSpec(name="TOKEN", hosts=("a.example",), expose="env"),),
        limits=Limits(timeout_ms=5000, memory_bytes=1000),
        run_as="nonroot",
    ),
)
HTTP = replace(
    SHELL,
    name="ask",
    backend=HttpBackend(
        url=Url(scheme="https", host="a.example", port=443, path=Template(())),
        auth=OAuth2Auth(
            token_url=Url(scheme="https", host="id.example", port=8443, path=Template(())),
            client_id=Template(()),
            client_secret=Template(()),
        ),
    ),
    sandbox=SandboxSpec(limits=Limits(memory_bytes=2000)),
)
PYTHON = replace(
    SHELL,
    name="count",
    backend=PythonBackend(entry="a.py", function="f", files=(), requirements=("numpy==2.0",)),
    sandbox=SandboxSpec(),
    aliases=("tally",),
)


def composite(name: str, **steps: str) -> ToolSpec:
    return ToolSpec(
        name=name,
        description="All.",
        parameters=Schema({"type": "object"}),
        backend=CompositeBackend(
            strategy="sequential", steps=tuple(Step(id=step, tool=tool) for step, tool in steps.items())
        ),
        sandbox=SandboxSpec(limits=Limits(timeout_ms=60_000), network=NetworkSpec(allow=(host("unused.example"),))),
    )


INNER = composite("inner", get="fetch", sum="tally")
OUTER = composite("outer", first="ask", both="inner", last="fetch", lost="gone")
TOOLS = tools_by_name([SHELL, HTTP, PYTHON, INNER, OUTER])


def test_permissions_of_a_sandbox() -> None:
    found = permissions_of(SHELL, TOOLS)
    assert found.hosts == (Grant(host("a.example")), Grant(host("b.example")))
    assert found.workspaces == (Grant("transaction"),)
    assert found.transactions == (Grant(TransactionSpec(writes=("out/*",))),)
    assert found.images == (Grant("curl:8"),)
    assert found.users == (Grant("nonroot"),)
    assert Grant(Limit("memory_bytes", 1000)) in found.limits
    assert found.tools == found.missing == ()


def test_a_sandbox_without_a_workspace_has_no_permission_for_one() -> None:
    found = permissions_of(PYTHON, TOOLS)
    assert found.workspaces == ()
    assert found.transactions == ()


def test_an_http_tool_may_reach_the_hosts_of_its_urls() -> None:
    assert permissions_of(HTTP, TOOLS).hosts == (Grant(host("a.example")), Grant(host("id.example", 8443)))


def test_permissions_of_a_composite_name_the_steps() -> None:
    found = permissions_of(OUTER, TOOLS)

    assert found.tools == (
        Grant("ask", ("first",)),
        Grant("count", ("both",)),
        Grant("fetch", ("both", "last")),
        Grant("inner", ("both",)),
    )
    assert found.missing == (Grant("gone", ("lost",)),)
    assert found.hosts == (
        Grant(host("a.example"), ("first", "both", "last")),
        Grant(host("b.example"), ("both", "last")),
        Grant(host("id.example", 8443), ("first",)),
    )
    assert found.secrets == (Grant(SecretSpec(name="TOKEN", hosts=("a.example",), expose="env"), ("both", "last")),)
    assert found.images == (Grant("curl:8", ("both", "last")), Grant(None, ("first", "both")))
    assert found.requirements == (Grant("numpy==2.0", ("both",)),)
    assert found.users == (Grant("any", ("first", "both")), Grant("nonroot", ("both", "last")))


def test_a_composite_has_the_highest_limits_and_its_own_timeout() -> None:
    limits = {each.value.name: each for each in permissions_of(OUTER, TOOLS).limits}
    assert limits["timeout_ms"] == Grant(Limit("timeout_ms", 60_000), (OWN,))
    assert limits["memory_bytes"] == Grant(Limit("memory_bytes", Limits().memory_bytes), ("both",))


def test_recursive_calls_are_followed_once() -> None:
    one, two = composite("one", a="two", b="fetch"), composite("two", c="one")
    found = permissions_of(one, tools_by_name([one, two, SHELL]))
    assert [each.value for each in found.tools] == ["fetch", "one", "two"]
    assert found.workspaces == (Grant("transaction", ("b",)),)


@pytest.mark.slow
def test_shared_tools_are_processed_once() -> None:
    """Eight levels of a hundred steps each."""
    levels = [composite("c0", **{f"s{at}": "fetch" for at in range(100)})]
    levels += [composite(f"c{n}", **{f"s{at}": f"c{n - 1}" for at in range(100)}) for n in range(1, 9)]
    assert len(permissions_of(levels[-1], tools_by_name([SHELL, *levels])).hosts) == 2


def test_permissions_are_formatted_as_in_a_spec() -> None:
    rendered = permissions_of(OUTER, TOOLS).to_json()
    assert rendered["hosts"] == [
        {"value": "a.example:443", "by": ["first", "both", "last"]},
        {"value": "b.example:443", "by": ["both", "last"]},
        {"value": "id.example:8443", "by": ["first"]},
    ]
    assert rendered["secrets"] == [{"value": "TOKEN for a.example (env)", "by": ["both", "last"]}]
    assert rendered["transactions"] == [{"value": "commit: ask, writes: out/*", "by": ["both", "last"]}]
    assert rendered["images"] == [{"value": "curl:8", "by": ["both", "last"]}, {"value": None, "by": ["first", "both"]}]
