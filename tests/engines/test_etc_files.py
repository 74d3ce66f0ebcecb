"""The names that a sandbox knows."""

from __future__ import annotations

from toolc.engines.etc_files import FILES, hosts


def test_a_sandbox_knows_itself_and_no_resolver() -> None:
    assert FILES == {
        "hostname": "sandbox\n",
        "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
        "resolv.conf": "",
    }


def test_each_address_has_a_line_of_its_own() -> None:
    names = {"sandbox": "127.0.0.1", "api.example.com": "127.0.1.1", "example.com": "127.0.1.2"}
    assert hosts(names) == (
        "127.0.0.1 localhost sandbox\n127.0.1.1 api.example.com\n127.0.1.2 example.com\n::1 localhost\n"
    )
