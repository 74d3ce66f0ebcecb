"""Decode a document into ``ToolSpec``: one module per section of a tool. Start reading in ``tool``.

A new key of a spec is declared in ``toolc.model.spec``, which says everything about a key with a plain value. Here are
the decoders of the other ones, such as the URL of an HTTP tool in ``http``. Other packages decode some of them:
``sandbox.network`` and ``sandbox.secrets`` are in ``toolc.compiler.project.network``, ``sandbox.limits`` in
``toolc.compiler.project.limits`` (policies have them too), ``parameters`` in ``toolc.compiler.schema.parameters``.

- ``backend``: selects the kind of ``backend``; ``backend.plugin``.
- ``composed``: ``backend.agent`` and ``backend.composite`` with its steps.
- ``contradictions``: sections that are valid alone but contradict each other, such as ``retry`` of a request that is
  not idempotent.
- ``examples``: ``examples`` and ``tests``: arguments, ``expect``, files of the workspace.
- ``http``: ``backend.http``: ``method``, ``auth``, ``query``, ``headers``, ``body``.
- ``http_response``: ``pagination`` and ``errors`` of an HTTP tool.
- ``http_url``: ``url`` of an HTTP tool: constant scheme and host, placeholders in the path.
- ``mcp``: ``backend.mcp``: the definition of a tool of an MCP server, and how the server is started.
- ``python``: ``backend.python``: file or inline code, ``requirements``, text that is evaluated as code.
- ``python_function``: whether a Python file has the function and accepts the parameters.
- ``python_imports``: imports of files that are not listed and of packages that are not installed. Public:
  ``imports``.
- ``sandbox``: ``sandbox``: ``image``, ``build``, ``env``, ``workspace``, ``run_as``, ``min_isolation``; paths in it.
  Public: ``decode_profile``.
- ``servers``: puts ``servers`` of a file into the tools that name them (``with_server``).
- ``shell``: ``backend.shell``: ``argv``, ``script``, exit codes.
- ``tool``: ``decode``: name (its rule is in ``toolc.model.names``), description, ``result``, ``retry``,
  ``providers``, ``format``. Public: ``decode_tool``.

May import: ``compiler.located_tool``, ``project``, ``schema`` and ``templates``; ``data``, ``document``,
``validation`` and ``model``. It must not import ``checks``.
"""
