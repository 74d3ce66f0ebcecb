"""The host side of the protocol with the guest, whose frames are defined in ``toolc.guest.frames``.

- ``call_loop``: ``converse``, which runs one call over a sandbox's stream, with its deadline, grace periods, and a
  sandbox that dies. Start reading here.
- ``readiness``: waits until a guest is ready for a call, and checks that it still is.
- ``protocol``: the state machine without I/O: messages of both sides, exit reports, stdin.
- ``session``: the stream of a sandbox that serves several calls. Public: ``LIFE_MS``.

May import: ``runtime.http``, ``egress``, ``output``, ``secrets`` and the modules of ``runtime``; ``sandbox``,
``backends``, ``guest`` and ``model``.
"""
