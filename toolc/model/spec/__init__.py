"""The tool as declared in format 1: frozen dataclasses, with every default filled in.

``toolc.compiler.decode`` reads them from specs. A new key is a field here: it decides which digest covers it.

- ``code_backends``: ``ShellBackend``, ``PythonBackend``, ``PluginBackend``, ``HostFunction``; files and kinds of
  errors. Public: ``Argv``, ``ErrorKind``, ``ExitError``, ``File``, ``Load``, ``Script``, ``WhenGroup``.
- ``composed_backends``: ``CompositeBackend`` with its steps, and ``AgentBackend``. Public: ``AgentProvider``, ``Step``,
  ``Strategy``.
- ``http_backend``: ``HttpBackend``: URL, authentication, bodies, pagination, error rules, retries. Public:
  ``ApiKeyAuth``, ``Auth``, ``BasicAuth``, ``BearerAuth``, ``Body``, ``CursorPages``, ``Field``, ``FormBody``,
  ``HttpErrorRule``, ``HttpRetry``, ``JsonBody``, ``LinkPages``, ``Method``, ``MultipartBody``, ``MultipartPart``,
  ``NumberedPages``, ``OAuth2Auth``, ``OffsetPages``, ``Pagination``, ``Scheme``, ``Style``, ``TextBody``, ``Url``.
- ``sandbox``: ``SandboxSpec``: ``Limits`` and their defaults, network, secrets, workspace, image, ``Lifetime``. Public:
  ``Build``, ``Commit``, ``Destination``, ``EnvVar``, ``Expose``, ``MinIsolation``, ``NetworkSpec``, ``SecretEnvVar``,
  ``SecretSpec``, ``TransactionSpec``, ``WRITABLE``, ``WorkspaceMode``, ``MIB``.
- ``tool``: ``ToolSpec``: ``Annotations``, result, ``Retry``, tests; which fields each digest covers (``SURFACE``,
  ``EFFECT``). Start reading here. Public: ``Backend``, ``Expect``, ``ExpectedChanges``, ``ExpectedNetwork``,
  ``ProviderChoice``, ``ResultFormat``, ``ResultSpec``, ``Test``, ``FORMAT``.

May import: ``model`` (``json_schema`` and ``template`` only).
"""
