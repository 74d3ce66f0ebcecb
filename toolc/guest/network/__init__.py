"""The network of a sandbox: loopback listeners and an HTTP proxy whose connections become streams to the host.

The host decides which connections are allowed: see ``toolc.runtime.egress``.

- ``connection``: one connection of a program, and its stream to the host.
- ``listener``: ``GuestNetwork``: listens on loopback ports and accepts connections. Start reading here.
- ``proxy``: the HTTP proxy: CONNECT and plain requests, its error responses.

May import: ``guest``.
"""
