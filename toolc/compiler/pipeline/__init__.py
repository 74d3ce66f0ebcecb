"""The whole compiler: files to documents, tools, findings and a registry. Start reading in ``compile``.

- ``builtin_tools``: the tools that ship with toolc and their conflicts with names in a project; members of toolsets.
- ``compile``: ``compile_specs``: finds files, runs all phases, and collects tools and findings (``Compilation``).
  Public: ``gather``.
- ``compile_file``: what concerns one file alone: parse, decode, run the checks of single tools (``Piece``). Public:
  ``FileCompiler``, ``CODES``.
- ``gc_pause``: ``gc_paused``: compiles without garbage collection.
- ``parallel_build``: compiles specs and renders their tools. Public: ``compile_and_render``.
- ``processes``: compiles many files in several processes. Public: ``compile_each``, ``compile_many``.
- ``token_budgets``: the token budgets of projects.

May import: ``compiler.checks``, ``decode`` and the packages below them; ``data``, ``document``, ``policy`` and
``model``.
"""
