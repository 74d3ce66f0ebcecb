"""A difference as text, Markdown or JSON. Equal differences give equal bytes.

- ``diff_text``: for terminals: excerpts, word differences, colors. Start reading here. Public: ``report``.
- ``machine``: JSON, and changes as findings for ``toolc.reporters``. Public: ``findings_report``, ``json_report``.
- ``markdown``: the comment of a pull request: escaping, length limit. Public: ``report``.

May import: ``review``, ``reporters`` and ``model``.
"""
