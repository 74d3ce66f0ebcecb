"""What every sandbox has in ``/etc`` about names, whatever its image or the host says: nothing of the host's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

HOSTNAME: Final = "sandbox"

LOOPBACK: Final = "127.0.0.1"
"""Where nobody answers for names, so a question ends at once."""


def hosts(names: Sequence[tuple[str, str]] = ()) -> str:
    """The text of hosts(5) with these addresses and names beside those of the sandbox itself."""
    own = ((LOOPBACK, f"localhost {HOSTNAME}"), ("::1", "localhost"))
    return "".join(f"{address} {name}\n" for address, name in (*own, *names))


FILES: Final[Mapping[str, str]] = {"hostname": f"{HOSTNAME}\n", "hosts": hosts(), "resolv.conf": ""}
"""These files by name. An empty resolv.conf(5) means a resolver on loopback."""
