"""Documents (YAML and TOML) whose nodes have positions, and functions that read them key by key.

Start reading in ``nodes``, then ``map_reader``. The packages ``yaml`` and ``toml`` parse text.

- ``config_entries``: sets and removes one entry in the JSON, TOML or YAML configuration of another program. Public:
  ``plain_json``, ``EntryPlace``, ``Format``.
- ``declared``: ``read_keys``: the keys of a map that ``toolc.model.spec`` declares. Public: ``alternative``,
  ``read_map``.
- ``edits``: creates the fixes of findings: ``replace``, ``rename``, ``remove_entry``, ``insert_item``, and quotes for
  values. Public: ``fix``, ``insert_entry``, ``insert_line``, ``is_toml``, ``quote_plain``,
  ``replace_string``, ``set_text``, ``string_offsets``, ``text_at``.
- ``loader``: reads a file, checks its size and UTF-8, and parses it as YAML or TOML by its suffix. Public:
  ``load_data``, ``load_project``, ``read``, ``MAX_BYTES``.
- ``map_reader``: ``Reader`` reads the keys of a map and reports unknown and missing ones. Parsers read values. Public:
  ``boolean``, ``choice``, ``first_line``, ``integer``, ``list_of``, ``map_of``, ``map_parser``, ``mapping``,
  ``mismatch``, ``quoting_hint``, ``sequence``, ``string``, ``text``, ``unsupported``, ``Findings``, ``Parse``.
- ``line_diff``: ``unified_diff`` of a file before and after fixes, in linear time.
- ``nodes``: the tree of ``Document``, ``Mapping``, ``Sequence`` and ``Scalar``, and their spans. Public:
  ``MappingEntry``, ``Node``, ``NodePosition``, ``child``, ``innermost``, ``steps_to_decode``, ``strings``, ``to_json``.
- ``suggestions``: "did you mean": keys of other formats, misspelled or misplaced keys, values in the wrong form.
  Public: ``suggestion``, ``quote_names``, ``explanation``, ``foreign_format``, ``has_misspelled_key``,
  ``looks_like_spec``, ``replaced_keys``, ``OPENAI``, ``REQUIRED``.
- ``syntax_errors``: recognizes text of another format in a spec, such as Git conflicts, Markdown fences and templates,
  and nesting that is too deep.
- ``units``: durations (``500ms``) and sizes (``64KiB``). Public: ``duration``, ``size``.

May import: ``model``.
"""
