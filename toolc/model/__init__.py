"""Frozen dataclasses that all packages share, and pure functions of them. No I/O except reading a registry file.

Start reading in ``spec`` (the tool as declared), then ``registry``, ``call``, ``plan``, ``result``.

- ``argument_checks``: checks of arguments of the public functions: ``seconds``, ``path``, ``one_of``; wording of type
  errors.
- ``call``: ``ToolCall``, decisions of hooks (``Confirm``, ``Deny``), proposed changes of files (``Proposal``,
  ``FileChange``) and how many are listed.
- ``call_graph``: which tools a tool calls; cycles and depth.
- ``codes``: every code of a finding with its severity. A new code is declared here.
- ``destinations``: hosts and destinations: parsed, canonical; ``covers`` compares declared ones. See
  ``toolc.runtime.egress.policy``.
- ``diagnostics``: ``Diagnostic``: a finding; ``Fix``, ``Severity``, sorting, limit per code. Public: ``Code``,
  ``Diagnostics``, ``Edit``.
- ``errors``: the exceptions, and the exit code of each.
- ``events``: events of calls and batches (``ToolStart``, ``ToolUpdate``, ``ToolEnd``).
- ``http_plan``: ``HttpCall``: the request of an HTTP tool, with a ``Slot`` for each secret.
- ``json_schema``: ``JsonValue``, ``parse_json``, ``Schema``; subschemas and JSON Pointers.
- ``lock_file``: ``toolc.lock``: ``Lock.check``, reading, writing, which tools changed, how to approve.
- ``names``: names of providers and engines; the rules for names of tools, parameters and variables; ``close_match`` for
  misspelled names. Public: ``engine_names``, ``AUTO``, ``ENGINES``, ``IDENTIFIER``, ``PROVIDER_NAMES``, ``TOOL_NAME``.
- ``permissions``: what a tool may do, with its steps: hosts, secrets, limits (``Permissions``), and as text. Public:
  ``format_permissions``, ``Grant``, ``Limit``, ``permissions_of``, ``OWN``.
- ``plan``: ``Plan`` and ``Profile``: all that an engine needs; ``Mount``, proxy variables, names of limits.
- ``registry``: the contents of ``registry.json`` (``RegistryFile``, ``RegisteredTool``), to and from JSON. Public:
  ``registry_from_json``, ``tool_to_json``.
- ``registry_io``: reads and writes registry files, canonical JSON; both digests of a tool (surface and effect).
- ``result``: ``Outcome`` of an engine and ``ToolResult`` of a caller; content blocks (``Image``, ``Audio``),
  ``BatchError``.
- ``source``: text with positions: ``Span``, the lines printed for a finding. Public: ``byte_order_mark``, ``Position``,
  ``SourceText``, ``BOM``.
- ``template``: ``Template``: placeholders and filters, rendered at a call.
- ``version``: the version of toolc. Public: ``__version__``.

May import: nothing of toolc, and no third-party package except ``rfc8785``.
"""
