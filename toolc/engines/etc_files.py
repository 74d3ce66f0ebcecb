"""What every sandbox has in ``/etc`` about names, whatever its image or the host says: nothing of the host's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HOSTNAME: Final = "sandbox"

LOOPBACK: Final = "127.0.0.1"
"""Where nobody answers for names, so a question ends at once."""

NAMES: Final[Mapping[str, str]] = {HOSTNAME: LOOPBACK}
"""The names that a sandbox knows besides ``localhost``, with their addresses."""


def hosts(names: Mapping[str, str] = NAMES) -> str:
    """The text of hosts(5) for these names and ``localhost``."""
    known = {"localhost": LOOPBACK, **names}
    by_address = {address: [name for name in known if known[name] == address] for address in known.values()}
    return "".join(f"{address} {' '.join(each)}\n" for address, each in by_address.items()) + "::1 localhost\n"


FILES: Final[Mapping[str, str]] = {"hostname": f"{HOSTNAME}\n", "hosts": hosts(), "resolv.conf": ""}
"""These files by name. An empty resolv.conf(5) means a resolver on loopback."""
