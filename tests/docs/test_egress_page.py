"""What ``docs/egress.md`` says is so: its spec compiles, its entries parse, and its limits are those in force."""

from __future__ import annotations

import re
from pathlib import Path

from toolc.api import Registry
from toolc.guest.frames import MAX_CONNECTIONS
from toolc.hosts import parse_destination, show_destination
from toolc.loopback import loopback, proxy_environment
from toolc.runtime import egress, egress_told, wire

PAGE = (Path(__file__).parents[1] / "docs" / "egress.md").read_text(encoding="utf-8")


def test_the_pages_spec_compiles_without_a_finding(tmp_path: Path) -> None:
    (found,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "builds.yaml").write_text(found)
    registry = Registry.load(tmp_path / "builds.yaml")
    assert registry.diagnostics.sorted() == ()
    (allowed,) = registry.registered("list_builds").spec.sandbox.network.allow
    assert show_destination(allowed) == "ci.example.com:443"


def test_every_entry_of_the_table_is_one() -> None:
    table = PAGE.partition("| entry |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    entries = [entry for cell in cells for entry in re.findall(r"`([^`]+)`", cell)]
    assert [show_destination(parse_destination(entry)) for entry in entries] == entries
    assert len(entries) == 7


def test_the_variables_and_the_first_address_are_named() -> None:
    listening = loopback([parse_destination("api.example.com:443")])
    assert f"`{listening.hosts[0][0]}`" in PAGE
    for each in proxy_environment(listening):
        assert f"`{each.name.lower()}`" in PAGE or each.name == "NODE_USE_ENV_PROXY"


def test_the_limits_are_those_in_force() -> None:
    limits = PAGE.partition("## Limits")[2].partition("##")[0]
    for text in (
        f"{MAX_CONNECTIONS}; {egress.MAX_IN_ALL:,}",
        f"{egress.MAX_BYTES >> 30} GiB",
        f"| {egress.CONNECT_SECONDS:g} s |",
        f"| {egress.IDLE_SECONDS:g} s |",
    ):
        assert text in limits
    assert f"first {egress_told.MAX_LISTED} connections" in PAGE
    assert wire.DELIVERY_SECONDS == 1
