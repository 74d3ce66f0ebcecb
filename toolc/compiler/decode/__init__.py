"""From a document to ``ToolSpec``: one module per section of a tool.

Start reading in ``tool``. ``backend`` selects the kind: ``shell``, ``python`` (with ``python_function``), ``http``
(with ``http_url``, ``http_pages``) or ``composed``. The other sections are ``sandbox``, ``retry``, ``result``,
``examples`` and ``providers``; ``agreement`` checks that the sections agree. A new key of a spec is read here,
stored in ``toolc.model.spec``, and described in ``toolc.compiler.spec_schema``: for example a key of HTTP tools in
``http`` and ``toolc.model.spec.http_backend``.

May import: ``toolc.compiler.located_tool``, ``project``, ``schema`` and ``templates``; ``toolc.document``,
``toolc.validation`` and ``toolc.model``. It must not import ``checks``.

Public names: ``NO_COMMAND`` (``shell``); ``decode``, ``decode_tool`` (``tool``).
"""
