"""The library API: load a registry, lower it for a provider, run its tools, and build specs.

Start reading in ``registry``, then ``executor``. ``build`` compiles specs, ``messages`` translates between a
provider's messages and calls, and ``serialization`` writes results and events as JSON. Most of these names are
exported by ``toolc`` too.

May import: every package below it: ``toolc.compiler``, ``toolc.runtime``, ``toolc.functions`` and the layers below
them.

Public names: ``build``, ``compile_paths``, ``split_target`` (``build``); ``Executor`` (``executor``); ``tool_calls``,
``tool_messages`` (``messages``); ``Registry`` (``registry``); ``event_to_json``, ``result_to_json``
(``serialization``).
"""
