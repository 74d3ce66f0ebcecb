"""Functions of the embedding program as tools. They run in its process, without a sandbox.

Start reading in ``define``. ``tool`` is the defined tool, ``composed`` defines composites and agents in Python, and
``type_hints`` converts type hints to JSON Schema. ``toolc.runtime.host_function`` runs the functions.

May import: ``toolc.compiler``, ``toolc.document``, ``toolc.validation`` and ``toolc.model``.

Public names: ``check_calls``, ``step`` (``composed``); ``define``, ``Definition``, ``tool`` (``define``);
``ComposedTool``, ``FunctionTool`` (``tool``).
"""
