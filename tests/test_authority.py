"""What a call may do, for one tool and for one that calls others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from toolc.authority import OWN, Granted, Limit, authority
from toolc.calls import by_name
from toolc.schema import Schema
from toolc.spec import (
    Argv,
    Destination,
    Limits,
    Network,
    PythonBackend,
    Sandbox,
    Secret,
    ShellBackend,
    ToolSpec,
    Transaction,
)
from toolc.spec_composite import CompositeBackend, Step
from toolc.spec_http import HttpBackend, OAuth2Auth, Url
from toolc.template import Template


def host(name: str, port: int = 443) -> Destination:
    return Destination(kind="exact", host=name, port=port)


SHELL = ToolSpec(
    name="fetch",
    description="Fetch.",
    parameters=Schema({"type": "object"}),
    backend=ShellBackend(command=Argv(elements=(Template(("curl",)),))),
    sandbox=Sandbox(
        image="curl:8",
        workspace="transaction",
        transaction=Transaction(writes=("out/*",)),
        network=Network(allow=(host("b.example"), host("a.example"))),
        secrets=(Secret(name="TOKEN", hosts=("a.example",), expose="env"),),
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
    sandbox=Sandbox(limits=Limits(memory_bytes=2000)),
)
PYTHON = replace(
    SHELL,
    name="count",
    backend=PythonBackend(entry="a.py", function="f", files=(), requirements=("numpy==2.0",)),
    sandbox=Sandbox(),
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
        sandbox=Sandbox(limits=Limits(timeout_ms=60_000), network=Network(allow=(host("unused.example"),))),
    )


INNER = composite("inner", get="fetch", sum="tally")
OUTER = composite("outer", first="ask", both="inner", last="fetch", lost="gone")
TOOLS = by_name([SHELL, HTTP, PYTHON, INNER, OUTER])


def test_a_tool_has_what_its_own_sandbox_has() -> None:
    found = authority(SHELL, TOOLS)

    assert found.hosts == (Granted(host("a.example")), Granted(host("b.example")))
    assert found.workspaces == (Granted("transaction"),)
    assert found.transactions == (Granted(Transaction(writes=("out/*",))),)
    assert found.images == (Granted("curl:8"),)
    assert found.users == (Granted("nonroot"),)
    assert Granted(Limit("memory_bytes", 1000)) in found.limits
    assert found.tools == found.missing == ()


def test_an_http_tool_reaches_the_hosts_of_its_own_urls() -> None:
    assert authority(HTTP, TOOLS).hosts == (Granted(host("a.example")), Granted(host("id.example", 8443)))


def test_a_composite_has_what_its_steps_have_and_says_which_brings_it() -> None:
    found = authority(OUTER, TOOLS)

    assert found.tools == (
        Granted("ask", ("first",)),
        Granted("count", ("both",)),
        Granted("fetch", ("both", "last")),
        Granted("inner", ("both",)),
    )
    assert found.missing == (Granted("gone", ("lost",)),)
    assert found.hosts == (
        Granted(host("a.example"), ("first", "both", "last")),
        Granted(host("b.example"), ("both", "last")),
        Granted(host("id.example", 8443), ("first",)),
    )
    assert found.secrets == (Granted(Secret(name="TOKEN", hosts=("a.example",), expose="env"), ("both", "last")),)
    assert found.images == (Granted("curl:8", ("both", "last")), Granted(None, ("first", "both")))
    assert found.requirements == (Granted("numpy==2.0", ("both",)),)
    assert found.users == (Granted("any", ("first", "both")), Granted("nonroot", ("both", "last")))


def test_of_each_limit_it_has_the_highest_and_of_the_time_its_own() -> None:
    limits = {each.value.name: each for each in authority(OUTER, TOOLS).limits}

    assert limits["timeout_ms"] == Granted(Limit("timeout_ms", 60_000), (OWN,))
    assert limits["memory_bytes"] == Granted(Limit("memory_bytes", Limits().memory_bytes), ("both",))


def test_a_circle_ends_where_it_closes() -> None:
    one, two = composite("one", a="two", b="fetch"), composite("two", c="one")
    found = authority(one, by_name([one, two, SHELL]))

    assert [each.value for each in found.tools] == ["fetch", "one", "two"]
    assert found.workspaces == (Granted("transaction", ("b",)),)


@pytest.mark.slow
def test_what_brings_nothing_more_costs_nothing_more() -> None:
    """Eight levels of a hundred steps each are as many calls as nobody could count."""
    levels = [composite("c0", **{f"s{at}": "fetch" for at in range(100)})]
    levels += [composite(f"c{n}", **{f"s{at}": f"c{n - 1}" for at in range(100)}) for n in range(1, 9)]
    assert len(authority(levels[-1], by_name([SHELL, *levels])).hosts) == 2


def test_it_reads_as_a_spec_does() -> None:
    told = authority(OUTER, TOOLS).to_json()

    assert told["hosts"] == [
        {"value": "a.example:443", "by": ["first", "both", "last"]},
        {"value": "b.example:443", "by": ["both", "last"]},
        {"value": "id.example:8443", "by": ["first"]},
    ]
    assert told["secrets"] == [{"value": "TOKEN for a.example (env)", "by": ["both", "last"]}]
    assert told["transactions"] == [{"value": "commit: ask, writes: out/*", "by": ["both", "last"]}]
    assert told["images"] == [{"value": "curl:8", "by": ["both", "last"]}, {"value": None, "by": ["first", "both"]}]
