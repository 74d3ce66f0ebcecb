"""Documents whose nodes have positions, and reading them key by key.

Start reading in ``nodes``, then ``map_reader``. ``loader`` reads files, ``toolc.document.yaml`` and
``toolc.document.toml`` parse them, ``edits`` creates fixes, ``suggestions`` and ``syntax_errors`` explain common
mistakes, and ``units`` reads durations and sizes.

May import: ``toolc.model``.

Public names, by module (``__all__`` of a module has all of them):

- ``nodes``: ``Document``, ``Mapping``, ``Sequence``, ``Scalar``, ``to_json``.
- ``loader``: ``load_data``, ``load_project``.
- ``map_reader``: ``Reader``, ``Findings``, and parsers of values such as ``string`` and ``list_of``.
- ``edits``: ``fix``, ``replace``, ``quote_plain``, ``remove_entry``. ``units``: ``duration``, ``size``.
- ``suggestions``: ``has_misspelled_key``. ``syntax_errors``: ``SyntaxProblem``, ``detect_foreign_content``.
"""
