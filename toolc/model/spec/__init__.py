"""The tool as declared in format 1: frozen dataclasses, with every default filled in.

Start reading in ``tool``. The backends are in ``code_backends``, ``http_backend`` and ``composed_backends``;
``sandbox`` has the network, secrets, workspace and limits of a tool. ``toolc.compiler.decode`` reads them from specs.

May import: ``toolc.model`` (``json_schema`` and ``template`` only).

Public names: ``Argv``, ``ErrorKind``, ``ExitError``, ``File``, ``HostFunction``, ``Load``, ``PluginBackend``,
``PythonBackend``, ``Script``, ``ShellBackend``, ``WhenGroup`` (``code_backends``); ``AgentBackend``,
``AgentProvider``, ``CompositeBackend``, ``Step``, ``Strategy`` (``composed_backends``); ``ApiKeyAuth``, ``Auth``,
``BasicAuth``, ``BearerAuth``, ``Body``, ``CursorPages``, ``Field``, ``FormBody``, ``HttpBackend``, ``HttpErrorRule``,
``HttpRetry``, ``JsonBody``, ``LinkPages``, ``Method``, ``MultipartBody``, ``NumberedPages``, ``OAuth2Auth``,
``OffsetPages``, ``Pagination``, ``MultipartPart``, ``Scheme``, ``Style``, ``TextBody``, ``Url`` (``http_backend``);
``Build``, ``Commit``, ``Destination``, ``EnvVar``, ``Expose``, ``Lifetime``, ``Limits``, ``MinIsolation``,
``NetworkSpec``, ``SandboxSpec``, ``SecretEnvVar``, ``SecretSpec``, ``TransactionSpec``, ``WorkspaceMode``, ``MIB``
(``sandbox``); ``Annotations``, ``Backend``, ``Expect``, ``ExpectedChanges``, ``ExpectedNetwork``, ``ProviderChoice``,
``ResultFormat``, ``ResultSpec``, ``Retry``, ``Test``, ``ToolSpec``, ``EFFECT``, ``FORMAT``, ``SURFACE`` (``tool``).
"""
