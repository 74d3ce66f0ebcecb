"""JSON Schema validation in bounded time, for the compiler and for every call.

Start reading in ``validate``. ``plain_schema`` answers simple cases quickly, ``coercion`` corrects what models
write, ``pattern_speed`` and ``regex_automaton`` measure the cost of regular expressions.

May import: ``toolc.model``.

Public names: ``validation_errors``, ``metaschema_errors``, ``is_valid_schema``, ``is_slow_for_keys``,
``UnresolvableError`` (``validate``); ``allows_null``, ``with_integers``, ``without_nulls`` (``coercion``);
``is_plain_schema``, ``plainly_satisfies`` (``plain_schema``); ``is_slow`` (``pattern_speed``).
"""
