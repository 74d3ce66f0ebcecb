"""The data of a review: the two states, which tool became which, and the changes.

- ``change``: ``ToolChange``: kind, grade, side, fingerprint.
- ``comments``: suppression comments by what they suppress.
- ``links``: tools that are copied from another one or similar to it.
- ``pairing``: matches tools of two states; renamed tools.
- ``schema_node``: a schema at one place of both states, its references resolved.
- ``state``: ``State``: tools, projects and findings of one side. Start reading here.
- ``text_diff``: changed text that a model reads, word by word.

May import: ``compiler`` and ``model``; no other package of ``review``.
"""
