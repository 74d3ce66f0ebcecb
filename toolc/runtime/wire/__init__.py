"""The host side of the protocol with the guest.

Start reading in ``call_loop``: it runs one call over a sandbox's stream, and ends it if the guest does not end it
at the deadline. ``protocol`` is the state machine without I/O, ``session`` runs several calls.
``toolc.guest.frames`` defines the frames.

May import: ``toolc.runtime.http``, ``egress``, ``output``, ``secrets`` and the modules of ``toolc.runtime``;
``toolc.sandbox``, ``toolc.backends``, ``toolc.guest`` and ``toolc.model``.

Public names: ``converse`` (``call_loop``); ``EndedError``, ``SessionCall``, ``SessionWire`` (``session``).
"""
