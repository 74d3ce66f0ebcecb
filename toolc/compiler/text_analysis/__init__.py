"""Analysis of text for ``checks`` and ``located_tool``. Start reading in ``informative_words``.

- ``code_arguments``: the words of a command that a program runs as code. Public: ``SHELLS``, ``COMMAND_NAME``,
  ``Code``, ``code_of``, ``inputs_of``.
- ``credentials``: names of credentials, and literal values that are credentials. Public: ``credential_header``,
  ``credential_name``, ``credentials_in``, ``is_exempt``, ``unexpanded_name``, ``without_scheme``.
- ``informative_words``: the words of a description that its name does not contain. Public: ``name_words``,
  ``new_words``, ``repeats_name``.
- ``python_syntax``: the syntax tree of Python code, also of newer versions, within a limit of steps. Public:
  ``TooManyStepsError``, ``in_older_syntax``, ``may_be_newer_f_string``, ``steps_to_parse``, ``syntax_tree``.
- ``secret_patterns``: strings that look like keys, tokens or passwords. Public: ``find_secrets``.
- ``shell_script``: the commands, words, expansions and quoting of a script. Public: ``MAX_DEPTH``, ``Command``,
  ``Expansion``, ``Part``, ``Region``, ``ShellScript``, ``Word``, ``read_script``.

May import: ``model``.
"""
