"""The host side of the protocol with the guest, whose frames are defined in ``toolc.guest.frames``.

- ``call_loop``: ``converse``: one call over a sandbox's stream; the deadline, grace periods, a sandbox that died. Start
  reading here.
- ``readiness``: a sandbox without a call: until its guest is ready, and whether it still is.
- ``protocol``: the state machine without I/O: messages of both sides, exit reports, stdin.
- ``session``: the stream of a sandbox that serves several calls. Public: ``LIFE_MS``.

May import: ``runtime.http``, ``egress``, ``output``, ``secrets`` and the modules of ``runtime``; ``sandbox``,
``backends``, ``guest`` and ``model``.
"""
