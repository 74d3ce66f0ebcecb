"""Typed clients: one function per tool, with types from its schemas, in Python or TypeScript.

Start reading in ``generate``. A type accepts every value that its schema accepts, and possibly more.

- ``generate``: the languages, and ``write_clients``, which describes each tool and writes the files. Public:
  ``LANGUAGES``, ``ClientFile``, ``client_text``, ``parse_clients``.
- ``identifiers``: identifiers that are valid in a language and unique.
- ``python_client``: a module with ``TypedDict`` types, or with Pydantic models.
- ``runtime``: what a generated Python module imports: calls, omitted arguments, the warning about another registry.
  Public: ``AsyncCaller``, ``Caller``, ``ToolCallError``, ``OMITTED``, ``Omitted``.
- ``schema_types``: derives types from a JSON Schema.
- ``types``: the types, which each language writes in its own syntax.
- ``typescript``: a module without imports, which can call through an MCP client.

May import: as ``client``.
"""
