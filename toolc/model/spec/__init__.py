"""The tool as declared in format 1: frozen dataclasses, with every default filled in.

``toolc.compiler.decode`` reads them from specs. A new key is a field here: it decides which digest covers it.

- ``code_backends``: ``ShellBackend``, ``PythonBackend``, ``PluginBackend``, ``HostFunction``; files and kinds of
  errors.
- ``composed_backends``: ``CompositeBackend`` with its steps, and ``AgentBackend``. Public: ``AgentProvider``, ``Step``,
  ``Strategy``.
- ``http_backend``: ``HttpBackend``: URL, authentication, bodies, pagination, error rules, retries.
- ``sandbox``: ``SandboxSpec``: ``limits`` and their defaults, network, secrets, workspace, image, lifetime.
- ``tool``: ``ToolSpec``: annotations, result, retry, tests; which fields each digest covers. Start reading here.

May import: ``model`` (``json_schema`` and ``template`` only).
"""
