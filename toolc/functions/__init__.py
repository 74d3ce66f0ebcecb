"""Functions of the embedding program as tools. They run in its process, without a sandbox.

``toolc.runtime.host_function`` runs them.

- ``composed``: composites and agents defined in Python (``step``), with the checks of specs. Public: ``check_calls``.
- ``define``: the decorator ``tool`` and the builder ``define``. Start reading here. Public: ``registered``.
- ``tools``: ``FunctionTool`` and ``ComposedTool``, the defined tools, which are checked when they are created.
- ``type_hints``: converts type hints to JSON Schema, and JSON values to types.

May import: ``compiler``, ``document``, ``validation`` and ``model``.
"""
