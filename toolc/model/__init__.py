"""Frozen dataclasses that all packages share, and pure functions of them. No I/O except reading a registry file.

Start reading in ``toolc.model.spec.tool`` (the tool as declared), then ``registry`` (what the compiler writes and
the runtime reads), ``call``, ``plan`` and ``result``.

May import: nothing of toolc, and no third-party package except ``rfc8785``.

Public names, by module (``__all__`` of a module has all of them):

- ``argument_checks``: one function per type of argument, such as ``seconds`` and ``path``.
- ``call``: ``ToolCall``, ``BoundCall``, ``Confirm``, ``ApproveChanges``, ``Proposal``, ``FileChange``.
- ``call_graph``: ``ToolLookup``, ``called_tools``, ``reachable_tools``, ``find_cycle``, ``call_depth``.
- ``codes``: one constant per finding code. ``diagnostics``: ``Diagnostic``, ``Diagnostics``, ``Fix``.
- ``destinations``: ``parse_destination``, ``canonical_host``, ``covers``.
- ``errors``: the exceptions. ``events``: the events of a call.
- ``json_schema``: ``JsonValue``, ``Schema``, ``map_subschemas``, ``pointer_tokens``.
- ``lock_file``: ``Lock``, ``LockError``. ``permissions``: ``Permissions``, ``permissions_of``.
- ``plan``: ``Plan``, ``Profile``, ``Mount``, ``LoopbackProxy``. ``http_plan``: ``HttpCall``, ``Slot``.
- ``names``: ``PROVIDER_NAMES``, ``ENGINES``, ``AUTO``, ``engine_names``. ``version``: ``__version__``.
- ``registry``: ``RegistryFile``, ``RegisteredTool``. ``registry_file``: ``read_registry``, ``canonical``.
- ``result``: ``Outcome``, ``ToolResult``, ``Content``. ``source``: ``SourceText``, ``Span``, ``Position``.
- ``template``: ``Template``, ``Placeholder``, ``JsonTemplate``, ``render_json``.
"""
