"""Frozen dataclasses that all packages share, and pure functions of them. No I/O except reading a registry file.

Start reading in ``toolc.model.spec.tool`` (the tool as declared), then ``registry`` (what the compiler writes and
the runtime reads), ``call``, ``plan`` and ``result``. Findings are ``diagnostics`` with the codes of ``codes``;
exceptions are in ``errors``; ``permissions`` lists what a tool may do.

May import: nothing of toolc, and no third-party package except ``rfc8785``.

Public names: one function per type of argument, such as ``seconds`` and ``path`` (``argument_checks``); ``Action``,
``Allow``, ``ApproveChanges``, ``BoundCall``, ``changes_to_json``, ``Confirm``, ``Deny``, ``FileChange``, ``Kind``,
``Proposal``, ``ToolCall``, ``NOBODY_TO_ASK`` (``call``); ``by_name``, ``called``, ``circle``, ``depth``, ``reachable``,
``ToolLookup``, ``MAX_DEPTH``, ``NO_TOOLS`` (``call_graph``); one constant per finding code (``codes``);
``canonical_host``, ``covers``, ``HostError``, ``is_loopback``, ``parse_destination``, ``show_destination``,
``show_host`` (``destinations``); ``Code``, ``Diagnostic``, ``Diagnostics``, ``Edit``, ``Fix``, ``Severity``
(``diagnostics``); ``InfrastructureError``, ``MissingExtraError``, ``NoEngineError``, ``NoPythonError``,
``RegistryError``, ``SandboxDiedError``, ``SpecError``, ``ToolcError``, ``UsageError`` (``errors``); ``BatchEnd``,
``BatchEvent``, ``CallEvent``, ``Event``, ``Listener``, ``Stream``, ``ToolConnect``, ``ToolDenied``, ``ToolEnd``,
``ToolRetry``, ``ToolStart``, ``ToolUpdate`` (``events``); ``Base64``, ``FormPart``, ``HttpCall``, ``MultipartForm``,
``Named``, ``Piece``, ``Pieces``, ``Place``, ``PlainBody``, ``Reading``, ``RequestBody``, ``Slot``, ``slots``,
``TokenRequest`` (``http_plan``); ``inner_schemas``, ``JsonObject``, ``JsonValue``, ``list_index``,
``map_subschemas``, ``Schema``, ``tokens``, ``LISTS_OF_SCHEMAS``, ``MAPS_OF_SCHEMAS``, ``SCHEMAS`` (``json_schema``);
``changed_tools``, ``Lock``, ``locked``, ``LockError``, ``Pin``, ``NAME`` (``lock_file``); ``format_permissions``,
``Grant``, ``Limit``, ``Permissions``, ``permissions_of``, ``OWN`` (``permissions``); ``Exec``, ``LimitName``,
``loopback``, ``LoopbackProxy``, ``Mount``, ``Plan``, ``PluginCall``, ``Profile``, ``proxy_environment``,
``PythonCall``, ``SecretFile``, ``LIMITS``, ``LOCALHOST``, ``PROXY_PORT`` (``plan``); ``engine_names``, ``AUTO``,
``ENGINES``, ``PROVIDER_NAMES`` (``names``); ``RegisteredTool``, ``registry_from_json``, ``RegistryFile``,
``tool_to_json`` (``registry``); ``canonical``, ``digests``, ``parse``, ``read_registry``, ``register``,
``registry_bytes``, ``registry_frame`` (``registry_file``); ``Audio``, ``BatchError``, ``Capture``,
``ConnectionAttempt``, ``Content``, ``Ending``, ``failure``, ``Image``, ``Outcome``, ``Resource``, ``Text``,
``ToolFailure``, ``ToolResult``, ``Usage``, ``REPLACEMENT`` (``result``); ``byte_order_mark``, ``Position``,
``SourceText``, ``Span``, ``BOM`` (``source``); ``as_text``, ``evaluate``, ``fill``, ``Filter``, ``JsonConstant``,
``JsonEntry``, ``JsonList``, ``JsonMap``, ``JsonTemplate``, ``Placeholder``, ``Template``, ``TemplateError``,
``FILTERS``, ``FILTERS_WITH_ARGUMENT``, ``SECRETS``, ``STEPS`` (``template``); ``__version__`` (``version``).
"""
