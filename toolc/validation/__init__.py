"""JSON Schema validation in bounded time, for the compiler and for every call.

Messages about arguments of calls are in ``toolc.runtime.argument_binding``.

- ``coercion``: corrects what models write: nulls for absent values, 2.0 for 2. Public: ``allows_null``,
  ``with_integers``, ``without_nulls``.
- ``numbers``: exact arithmetic for ``multipleOf``. Public: ``is_multiple``.
- ``pattern_speed``: how long a regular expression can take; matching in bounded time. Public: ``is_slow``.
- ``plain_schema``: fast answers for simple schemas and values. Public: ``is_plain_schema``, ``plainly_satisfies``.
- ``regex_automaton``: regular expressions as automata.
- ``validate``: ``validation_errors`` with ``jsonschema``, counting steps (``ValidationBudget``). Start reading here.
  Public: ``is_slow_for_keys``, ``is_valid_schema``, ``libraries``, ``metaschema_errors``, ``schema_problem``,
  ``validation_error``, ``UnresolvableError``.

May import: ``model``.
"""
