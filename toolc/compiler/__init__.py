"""The compiler: from spec files to a registry and the definitions for each provider.

It reads files, but never runs a tool and never reads environment variables. The phases, in order:

- ``project``: find the project file, its settings and its policy.
- ``decode``: read each tool of a document into a ``ToolSpec``, with the helpers ``schema`` and ``templates``.
- ``checks``: report findings about decoded tools, with the helper ``text``.
- ``pipeline``: run the phases over all files. Start reading in ``pipeline.compile``.

``cache`` keeps results between runs, ``fixes`` edits specs, ``spec_schema`` has the JSON Schemas of spec files.
``located_tool`` is a decoded tool with its positions, ``build_output`` writes the files of a build.

May import: ``toolc.document``, ``toolc.validation``, ``toolc.data``, ``toolc.policy``, ``toolc.providers`` and
``toolc.model``; never ``toolc.runtime``. The order of the packages inside is a contract in ``pyproject.toml``.

Public names: ``Built``, ``render``, ``write_output`` (``build_output``); ``LocatedTool`` (``located_tool``).
"""
