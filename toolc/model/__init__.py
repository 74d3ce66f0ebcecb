"""Frozen dataclasses that all packages share, and pure functions. Only ``atomic_files`` and reading a registry do I/O.

Start reading in ``spec`` (the tool as declared), then ``registry``, ``call``, ``plan``, ``result``.

- ``atomic_files``: replaces a file atomically. Public: ``replace_file``.
- ``call``: ``ToolCall`` and ``BoundCall``, decisions of hooks (``Allow``, ``Confirm``, ``Deny``, ``ApproveChanges``),
  and proposed changes of files (``Proposal``, ``FileChange``, ``Action``, ``Kind``). Public: ``changes_to_json``,
  ``Claims``, ``NO_APPROVER``, ``NO_CLAIMS``.
- ``call_graph``: which tools a tool calls, with cycles and depth. Public: ``call_depth``, ``call_depths``,
  ``called_tools``, ``find_cycle``, ``find_cycles``, ``reachable_tools``, ``tools_by_name``, ``ToolLookup``,
  ``MAX_DEPTH``, ``NO_TOOLS``.
- ``codes``: every code of a finding with its severity. A new code is declared here. Public: a constant for each code
  (``BAD_VALUE``), and ``ALL``.
- ``destinations``: parses hosts and destinations into their canonical form. ``covers`` compares declared destinations.
  See ``toolc.runtime.egress.egress_policy``. Public: ``canonical_host``, ``format_destination``, ``format_host``,
  ``is_loopback``, ``parse_destination``, ``HostError``, ``METADATA_ADDRESSES``.
- ``diagnostics``: findings (``Diagnostic``) with ``Fix`` and ``Severity``, their order and the limit per code, and the
  steps to find them (``StepBudget``). Public: ``spend``, ``spend_once``, ``step_budget``, ``steps_left``, ``Code``,
  ``Diagnostics``, ``Edit``.
- ``errors``: the exceptions, and the exit code of each: ``ToolcError``, ``InfrastructureError``, ``MissingExtraError``,
  ``NoEngineError``, ``NoPythonError``, ``PolicyError``, ``RegistryError``, ``SandboxDiedError``, ``SpecError``,
  ``UsageError``, ``raise_shortage``.
- ``events``: ``Event`` of a call: ``ToolStart``, ``ToolUpdate``, ``ToolConnect``, ``ToolRetry``, ``ToolDenied``,
  ``ToolEnd``; ``BatchEvent`` of a batch: ``Event`` or ``BatchEnd``. Public: ``CallEvent``, ``Listener``, ``Stream``.
- ``http_plan``: ``HttpCall``: the request of an HTTP tool, with a ``Slot`` for each secret. Public: ``slots``,
  ``Base64``, ``Escaping``, ``FormPart``, ``MultipartForm``, ``NamedValue``, ``Piece``, ``Pieces``, ``PlainBody``,
  ``RequestBody``, ``ResponseHandling``, ``TokenRequest``, ``WorkspaceFile``.
- ``json_schema``: ``JsonValue``, ``JsonObject``, ``parse_json``, ``Schema``, subschemas and JSON Pointers. Public:
  ``anchors``, ``child_pointer``, ``decode_json``, ``direct_subschemas``, ``list_index``, ``list_under``,
  ``map_subschemas``, ``map_under``, ``pointer_tokens``, ``subschemas``, ``target_of``, ``type_of``, ``types_of``,
  ``unique_object``, ``value_at``, ``values_within``, ``LISTS_OF_SCHEMAS``, ``MAPS_OF_SCHEMAS``, ``SCHEMAS``.
- ``lock_file``: reads and writes ``toolc.lock``, and finds tools that changed (``Lock.check``). Public:
  ``changed_tools``, ``lock_tools``, ``Lock``, ``LockError``, ``LockedTool``, ``Pin``, ``ANY``.
- ``names``: the names of providers and engines, the rules for names of tools, parameters and variables, and
  ``close_match`` for misspelled names. Public: ``engine_names``, ``AUTO``, ``ENGINES``, ``IDENTIFIER``, ``IMAGE_NAME``,
  ``LOCK_NAME``, ``PROVIDER_NAMES``, ``TOOL_NAME``, ``names_similar_to``, ``valid_name``, ``SIMILAR_NAMES``.
- ``permissions``: the hosts, secrets and limits of a tool and of its steps (``Permissions``), and their text. Public:
  ``format_amount``, ``format_permissions``, ``Grant``, ``limit_key``, ``permissions_of``, ``OWN``.
- ``plan``: ``Plan`` and ``Profile``, with everything that an engine needs, ``Mount``, proxy variables, and names of
  limits. Public:
  ``loopback_proxy``, ``proxy_environment``, ``Exec``, ``LimitName``, ``LoopbackProxy``, ``McpCall``,
  ``PluginCall``, ``Programs``,
  ``PythonCall``, ``SecretFile``, ``LIMITS``, ``LOCALHOST``, ``NO_LIMIT``,
  ``PROXY_PORT``.
- ``registry``: converts ``registry.json`` (``RegistryFile``, ``RegisteredTool``) to and from JSON. Public:
  ``registry_from_json``, ``tool_to_json``.
- ``registry_io``: reads and writes registry files in canonical JSON, and computes the digests of a tool. Public:
  ``Digests``, ``canonical``, ``digests``, ``parse``, ``parse_registry``, ``read_registry``, ``register``,
  ``registry_bytes``, ``registry_frame``, ``registry_of``, ``surfaces_digest``.
- ``result``: ``Outcome`` of an engine, ``ToolResult`` for a caller, ``Content`` (``Text``, ``Image``, ``Audio``,
  ``Resource``), and ``BatchError``. Public: ``failure``, ``Capture``, ``ConnectionAttempt``, ``Ending``,
  ``ToolFailure``, ``Usage``, ``REPLACEMENT``.
- ``source``: text with positions (``Span``), and the lines printed for a finding. Public: ``byte_order_mark``,
  ``Position``, ``SourceText``, ``start_of_file``, ``BOM``, ``MAX_BEFORE``.
- ``template``: ``Template``, with placeholders and filters, rendered at a call. Public: ``as_text``, ``evaluate``,
  ``render_json``, ``Filter``, ``JsonConstant``, ``JsonEntry``, ``JsonList``, ``JsonMap``, ``JsonTemplate``,
  ``Placeholder``, ``TemplateError``, ``FILTERS``, ``FILTERS_WITH_ARGUMENT``, ``SECRETS``, ``STEPS``.
- ``text``: sizes, durations, counts and long texts in messages; valid Unicode; expressions that are compiled at their
  first use (``lazy_re``). Public: ``count_noun``, ``join_first``, ``printable``, ``render_duration``, ``render_size``,
  ``shorten``, ``valid_unicode``.

May import: nothing of toolc, and no third-party package except ``rfc8785``.
"""
