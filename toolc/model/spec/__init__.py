"""The format, declared once: frozen dataclasses of a tool, and what each of their fields is in a spec.

A key of the format is a field here, with its kind, default, sentence, example and the keys of other formats that people
write instead (see ``keys``). Decoding of plain keys, the schema for editors, the tables of the reference,
effective values and hints follow from that. The field also decides which digest covers a key.

- ``code_backends``: ``ShellBackend``, ``PythonBackend``, ``PluginBackend``, ``HostFunction``; files and kinds of
  errors. Public: ``Argv``, ``CREDENTIAL``, ``ErrorKind``, ``ExitError``, ``File``, ``Load``, ``Script``, ``WhenGroup``.
- ``composed_backends``: ``CompositeBackend`` with its steps, and ``AgentBackend``. Public: ``AgentProvider``, ``Step``,
  ``Strategy``.
- ``declared``: reads the declarations: ``keys_of`` a class, ``texts_of`` them. Public: ``alternatives``, ``Declared``,
  ``keys_under``, ``keyword_texts``, ``map_class``, ``Text``, ``type_hints``.
- ``http_backend``: ``HttpBackend``: URL, authentication, bodies, pagination, error rules, retries. Public:
  ``ApiKeyAuth``, ``Auth``, ``AuthKeys``, ``BasicAuth``, ``BearerAuth``, ``Body``, ``BodyKeys``, ``CursorPages``,
  ``Field``, ``FileBody``, ``FormBody``,
  ``HttpErrorRule``, ``HttpRetry``, ``JsonBody``, ``LinkPages``, ``Method``, ``MultipartBody``, ``MultipartPart``,
  ``NumberedPages``, ``OAuth2Auth``, ``OffsetPages``, ``Pagination``, ``Scheme``, ``Style``, ``TextBody``, ``Url``,
  ``WireStyle``.
- ``keys``: ``Kind`` and ``Key``: the vocabulary of declarations. Public: ``choice``, ``either``, ``integer``, ``key``,
  ``list_of``, ``map_at``, ``map_of``, ``map_with``, ``matching``, ``number``, ``BOOLEAN``, ``EXPRESSION``,
  ``FIELD``, ``JSON``, ``TEMPLATE``, ``TEXT``, ``SIZE``, ``STRING``.
- ``mcp_backend``: ``McpBackend``, a tool of an MCP server, and ``McpServer``, how that is reached.
- ``policy``: ``Policy`` of a project: its keys, and patterns of paths. Public: ``Approval``, ``ArgumentRules``,
  ``path_matches``, ``PolicyKey``, ``RequiredField``, ``BACKEND_KINDS``, ``GRADES``, ``ISOLATION``, ``RISK``.
- ``project``: the keys of the project file. Public: ``LintKeys``, ``ProjectKeys``, ``ReviewSettings``,
  ``TokenBudgets``, ``HOST``.
- ``schema_keywords``: the keywords of JSON Schema in ``parameters``. Public: ``DIALECTS``, ``KEYWORDS``, ``TYPES``.
- ``sandbox``: ``SandboxSpec``: ``Limits`` and their defaults, network, secrets, workspace, image, ``Lifetime``. Public:
  ``Build``, ``Commit``, ``Destination``, ``EnvVar``, ``Expose``, ``Limit``, ``MinIsolation``, ``NetworkSpec``,
  ``SecretEnvVar``, ``SecretSpec``, ``TransactionSpec``, ``WRITABLE``, ``WorkspaceMode``, ``MIB``.
- ``tool``: ``ToolSpec``: ``Annotations``, result, ``Retry``, tests; which fields each digest covers (``SURFACE``,
  ``EFFECT``). Start reading here. Public: ``Backend``, ``Expect``, ``ExpectedChanges``, ``ExpectedNetwork``,
  ``Backends``, ``ProviderChoice``, ``ResultFormat``, ``ResultSpec``, ``SpecFile``, ``Test``, ``FORMAT``,
  ``MAX_RESULT_CHARS``, ``MIN_RESULT_CHARS``, ``OPTIONS``, ``STRICT``, ``CallerParameter``, ``CLAIM``.

May import: ``model`` (``json_schema``, ``source``, ``template`` and ``text`` only).
"""
