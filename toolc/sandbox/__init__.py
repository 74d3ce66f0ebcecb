"""Sandboxes: the interface and the selection of engines, and the configuration that all sandboxes share.

The engines are ``docker`` and ``oci``. Both use ``host`` (this machine: owners, cleanup, cgroups, store), ``images``
(image archives and layers) and ``python`` (interpreter and packages). A new engine is a package here with ``engine()``
in its module ``engine``, and a name in ``toolc.model.names``.

- ``common_config``: files in ``/etc`` (hosts), masked paths, options of tmpfs.
- ``interface``: ``Engine``, ``EngineSandbox``, ``Capabilities``; levels of isolation; limits that are not
  enforced. Start reading here. Public: ``format_limits``, ``unenforced``, ``ContentDigests``, ``EngineForkServer``,
  ``EngineStatus``, ``ImageUsed``, ``Leftover``, ``PoolEngine``, ``offer``, ``ISOLATION``.
- ``seccomp``: the system calls that a tool may make.
- ``selection``: chooses and imports the engine of a call; messages if no engine works. Public: ``begin_probe``,
  ``check_works``, ``close_unused``, ``in_use``, ``load``, ``probe``, ``pull``, ``select``, ``selection_of``,
  ``EngineSelection``.

May import: ``guest``, ``data`` and ``model``. A contract in pyproject.toml sets the order of the packages inside.
"""
