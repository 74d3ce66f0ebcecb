"""JSON Schema validation in bounded time, for the compiler and for every call.

Messages about arguments of calls are in ``toolc.runtime.argument_problems``.

- ``coercion``: corrects arguments that models write: null for an absent value, JSON text, 2.0 for 2. Public:
  ``allows_null``, ``parse_text``, ``parsed_texts``, ``with_integers``, ``without_json_text``, ``without_nulls``.
- ``character_sets``: characters as ranges of code points. Public: ``Ranges``.
- ``ecma_advice``: suggests ECMA-262 syntax to replace the syntax of other languages.
- ``ecma_pattern``: translates ECMA-262 patterns to Python patterns. Public: ``Remark``, ``Translation``, ``translate``.
- ``ecma_tree``: the tree of an ECMA-262 pattern. Public: ``Node``, ``PatternError``,
  ``UnsupportedPatternError``.
- ``formats``: the formats that ``format`` asserts. Public: ``EXAMPLES``, ``KNOWN_FORMATS``, ``describe_format``,
  ``matches_format``.
- ``internet_formats``: host names, e-mail addresses, IP addresses and URIs. Public: ``is_email``, ``is_hostname``,
  ``is_idn_email``, ``is_idn_hostname``, ``is_ipv4``, ``is_ipv6``, ``is_iri``, ``is_iri_reference``, ``is_uri``,
  ``is_uri_reference``, ``is_uri_template``.
- ``numbers``: exact arithmetic for ``multipleOf``. Public: ``is_multiple``, ``to_fraction``.
- ``pattern_speed``: estimates how long a regular expression can take, and matches in bounded time. Public:
  ``TooSlowError``, ``compile_python``, ``is_slow``.
- ``plain_schema``: fast answers for simple schemas and values. Public: ``is_plain_schema``, ``plainly_satisfies``.
- ``regex_automaton``: regular expressions as automata. Public: ``MAX_STATES``, ``Automaton``, ``Matcher``,
  ``TooManyStatesError``, ``automaton``, ``parse``.
- ``schema_patterns``: matches the patterns of schemas. Public: ``is_regular_expression``, ``is_slow_for_keys``,
  ``is_slow_pattern``, ``matches``, ``matches_key``, ``pattern_problem``, ``steps_to_check``, ``steps_to_match_keys``.
- ``validate``: ``validation_errors`` with ``jsonschema``, counting steps (``ValidationBudget``). Start reading here.
  Public: ``is_valid_schema``, ``libraries``, ``metaschema_errors``, ``schema_problem``, ``validation_error``,
  ``OutOfTimeError``, ``SchemaValidator``, ``TooDeepError``, ``UnresolvableError``.
- ``witness``: a package that finds values which show how two schemas differ.

May import: ``model``.
"""
