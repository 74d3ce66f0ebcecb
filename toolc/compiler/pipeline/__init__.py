"""The whole compiler: files to documents, tools, findings and a registry.

Start reading in ``compile``. ``compile_file`` does what concerns one file alone, ``builtin_tools`` compiles the
tools that ship with toolc.

May import: ``toolc.compiler.checks``, ``decode`` and the packages below them; ``toolc.data``, ``toolc.document``,
``toolc.policy`` and ``toolc.model``.

Public names: ``Compilation``, ``compile_specs``, ``gather``, ``gc_paused`` (``compile``); ``FileCompiler``,
``Piece``, ``CODES`` (``compile_file``).
"""
