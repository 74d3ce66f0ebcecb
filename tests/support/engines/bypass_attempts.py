"""Ways around an allow-list (``tests/data/egress-bypasses.yaml``), and the destinations that it does allow."""

from typing import Final

from project.data_files import load_yaml

_DATA: Final = load_yaml("egress-bypasses")

ALLOW: Final[list[str]] = _DATA["allow"]
"""The allow-list that the attempts try to bypass."""

HOSTS: Final[list[tuple[str, int, str]]] = [(host, port, attempt) for host, port, attempt in _DATA["hosts"]]
"""Host, port, and the attempt: ``ALLOW`` includes none of them."""

ADDRESSES: Final[list[tuple[str, str]]] = [(address, what) for address, what in _DATA["addresses"]]
"""An address as the resolver returns it for an allowed name, and what it is: none may be connected to."""

URLS: Final[list[tuple[str, str]]] = [(url, attempt) for url, attempt in _DATA["urls"]]
"""A URL, and the attempt. None may lead to a connection that ``ALLOW`` does not include."""

GREETINGS: Final[list[tuple[str, str]]] = [(greeting, attempt) for greeting, attempt in _DATA["greetings"]]
"""The bytes that a program sends to the proxy of the sandbox first, one character per byte, and the attempt."""

REQUESTS: Final[list[tuple[str, str]]] = [(request, attempt) for request, attempt in _DATA["requests"]]
"""The bytes that a program sends on a connection to an allowed host, one character per byte, and the attempt."""

SPELLINGS: Final[list[tuple[str, str]]] = [(host, spelling) for host, spelling in _DATA["spellings"]]
"""A host that is allowed, and how it is written: it must be reached."""
