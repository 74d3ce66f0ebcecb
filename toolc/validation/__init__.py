"""JSON Schema validation in bounded time, for the compiler and for every call.

Messages about arguments of calls are in ``toolc.runtime.argument_binding``.

- ``coercion``: corrects what models write: nulls for absent values, 2.0 for 2. Public: ``allows_null``,
  ``with_integers``, ``without_nulls``.
- ``formats``: the formats that ``format`` asserts. Public: ``EXAMPLES``, ``KNOWN_FORMATS``, ``describe_format``,
  ``matches_format``.
- ``internet_formats``: host names, e-mail addresses, IP addresses and URIs. Public: ``is_email``, ``is_hostname``,
  ``is_idn_email``, ``is_idn_hostname``, ``is_ipv4``, ``is_ipv6``, ``is_iri``, ``is_iri_reference``, ``is_uri``,
  ``is_uri_reference``, ``is_uri_template``.
- ``numbers``: exact arithmetic for ``multipleOf``. Public: ``is_multiple``.
- ``pattern_speed``: how long a regular expression can take; matching in bounded time. Public: ``TooSlowError``,
  ``is_slow``, ``search``.
- ``plain_schema``: fast answers for simple schemas and values. Public: ``is_plain_schema``, ``plainly_satisfies``.
- ``regex_automaton``: regular expressions as automata. Public: ``MAX_STATES``, ``Automaton``, ``TooManyStatesError``,
  ``automaton``, ``parse``.
- ``validate``: ``validation_errors`` with ``jsonschema``, counting steps (``ValidationBudget``). Start reading here.
  Public: ``is_slow_for_keys``, ``is_valid_schema``, ``libraries``, ``metaschema_errors``, ``schema_problem``,
  ``validation_error``, ``UnresolvableError``.

May import: ``model``.
"""
