"""Sandboxes: the interface of an engine, the selection of an engine, and what every sandbox has.

Start reading in ``base``. ``selection`` chooses the engine and imports it by name, ``isolation`` and ``seccomp``
are the defaults of every engine. The engines are ``toolc.sandbox.docker`` and ``toolc.sandbox.oci``; ``host``,
``images`` and ``python`` serve both.

May import: ``toolc.guest``, ``toolc.data`` and ``toolc.model``. The order of the packages inside is a contract in
``pyproject.toml``.

Public names: ``Capabilities``, ``ContentDigests``, ``Engine``, ``EngineSandbox``, ``EngineStatus``, ``ImageUsed``,
``Leftover``, ``format_limits``, ``unenforced``, ``ISOLATION`` (``base``); ``guest_limits``, ``tmpfs_bounds``,
``FILES``, ``HOSTNAME``, ``LOOPBACK``, ``MASKED_PATHS``, ``READONLY_PATHS`` (``isolation``); ``close_unused``,
``EngineSelection``, ``in_use``, ``load``, ``probe``, ``select``, ``selection_of`` (``selection``).
"""
