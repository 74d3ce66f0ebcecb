"""Documents whose nodes have positions, and reading them key by key.

Start reading in ``nodes``, then ``map_reader``. ``loader`` reads files, ``toolc.document.yaml`` and
``toolc.document.toml`` parse them, ``edits`` creates fixes, ``suggestions`` and ``syntax_errors`` explain common
mistakes, and ``units`` reads durations and sizes.

May import: ``toolc.model``.

Public names: ``fix``, ``insert_item``, ``is_toml``, ``quote_plain``, ``remove_entry``, ``replace``, ``written``
(``edits``); ``load_data``, ``load_project``, ``read``, ``MAX_BYTES`` (``loader``); ``boolean``, ``choice``,
``Findings``, ``first_line``, ``integer``, ``list_of``, ``listed``, ``mapping``, ``mismatch``, ``Parse``,
``quoting``, ``Reader``, ``sequence``, ``string``, ``suggestion``, ``text``, ``unsupported`` (``map_reader``);
``Document``, ``Mapping``, ``MappingEntry``, ``Node``, ``Place``, ``Scalar``, ``Sequence``, ``strings``, ``to_json``
(``nodes``); ``alias_of``, ``REQUIRED`` (``suggestions``); ``detect_foreign_content``, ``odd_space``,
``surrogate_problem``, ``SyntaxProblem``, ``TooDeepError``, ``MAX_DEPTH`` (``syntax_errors``); ``duration``,
``render_size``, ``size`` (``units``).
"""
