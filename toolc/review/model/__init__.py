"""The data of a review: the two states, the pairs of their tools, and the changes.

- ``change``: ``ToolChange``: kind, grade, side, fingerprint.
- ``comments``: suppression comments, by the finding that they suppress.
- ``links``: tools that are copies of another tool or similar to one.
- ``pairing``: matches the tools of two states, including renamed ones.
- ``schema_node``: a schema at one place of both states, its references resolved.
- ``state``: ``State``: tools, projects and findings of one side. Start reading here.
- ``text_diff``: changed text that a model reads, word by word.

May import: ``compiler`` and ``model``; no other package of ``review``.
"""
