"""The whole compiler, from files to documents, tools, findings and a registry. Start reading in ``compile``.

- ``builtin_tools``: compiles the tools that ship with toolc, finds name conflicts with a project, and checks toolsets.
- ``compile``: ``compile_specs``: finds files, runs all phases, and collects tools and findings (``Compilation``).
  Public: ``gather``.
- ``compile_file``: compiles one file alone: parses it, decodes it, and runs the checks of single tools (``Piece``).
  Public: ``FileCompiler``, ``CODES``.
- ``gc_pause``: ``gc_paused``: compiles without garbage collection.
- ``parallel_build``: compiles specs and renders their tools. Public: ``compile_and_render``.
- ``processes``: compiles many files in several processes. Public: ``compile_each``, ``compile_many``.
- ``token_budgets``: the token budgets of projects.

May import: ``compiler.checks``, ``decode`` and the packages below them; ``data``, ``document``, ``policy`` and
``model``.
"""
