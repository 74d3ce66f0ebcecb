"""The network of a sandbox: loopback listeners and an HTTP proxy whose connections become streams to the host.

Start reading in ``listener``; ``connection`` is one connection, ``proxy`` the HTTP proxy. The host decides which
connections are allowed: see ``toolc.runtime.egress``.

May import: ``toolc.guest``.

Public names: ``GuestNetwork``, ``NetworkError`` (``listener``).
"""
