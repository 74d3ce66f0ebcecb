"""Search for tools instead of listing all of them, for ``toolc serve --search``.

- ``finding_tools``: the three tools that are listed instead (``finding_tools.json``), and their answers. Start reading
  here. Public: ``FindingTools``.
- ``tool_index``: which tools fit a query best.
- ``purposes``: whether a query or a tool reads, lists, creates, updates or deletes.
- ``words``: stems and synonyms, from ``toolc/data/search_words.toml``.

May import: ``client`` and every package below it.
"""
