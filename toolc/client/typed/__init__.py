"""Typed clients: one function per tool, with types from its schemas, in Python or TypeScript.

Start reading in ``generate``. A type accepts every value that its schema accepts, and possibly more.

- ``generate``: ``write_clients``: the languages, the description of each tool, and the file. Public: ``LANGUAGES``,
  ``ClientFile``, ``client_text``, ``parse_clients``.
- ``identifiers``: identifiers that a language accepts and that are used once.
- ``python_client``: a module with ``TypedDict`` types, or with Pydantic models.
- ``runtime``: what a generated Python module imports: calls, omitted arguments, the warning about another registry.
  Public: ``AsyncCaller``, ``Caller``, ``ToolCallError``, ``OMITTED``, ``Omitted``.
- ``schema_types``: reads a JSON Schema as types.
- ``types``: the types, which each language writes in its own way.
- ``typescript``: a module without imports, and a caller for MCP clients.

May import: as ``client``.
"""
