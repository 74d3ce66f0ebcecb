"""Analysis of text for ``checks`` and ``located_tool``. Start reading in ``informative_words``.

- ``code_arguments``: the words of a command that a program runs as code. Public: ``SHELLS``, ``COMMAND_NAME``,
  ``Code``, ``code_of``, ``inputs_of``.
- ``credentials``: finds credentials by their names and forms, and hides them in findings and texts. Public:
  ``Concealer``, ``conceal``, ``conceal_text``, ``credential_header``, ``credential_name``, ``find_secrets``,
  ``is_exempt``, ``is_token``, ``is_unexpanded``, ``literal_credential``, ``masked``, ``secret_ranges``,
  ``unexpanded_name``, ``without_scheme``.
- ``docstrings``: the descriptions in docstrings of Python. Public: ``Docstring``, ``read_docstring``.
- ``informative_words``: the words of a description that its name does not contain. Public: ``name_words``,
  ``new_words``, ``repeats_name``.
- ``long_runs``: long runs of some characters. Public: ``ALPHANUMERIC``, ``character_table``, ``has_long_run``.
- ``python_syntax``: the syntax tree of Python code, even in newer syntax, within a limit of steps. Public:
  ``TooManyStepsError``, ``in_older_syntax``, ``may_be_newer_f_string``, ``steps_to_parse``, ``syntax_tree``.
- ``shell_script``: the commands, words, expansions and quoting of a script. Public: ``MAX_DEPTH``, ``Command``,
  ``Expansion``, ``Part``, ``Region``, ``ShellScript``, ``Word``, ``read_script``.

May import: ``data`` and ``model``.
"""
