"""The secrets of a call, and their redaction from everything that leaves it.

- ``encodings``: the forms in which a secret can appear (base64, URLs, JSON, HTML, shells), and the shortest form.
- ``redaction``: ``Redactor``, ``RedactedStream``, and the secrets that a call receives as variables or files. Start
  reading here.

May import: ``model``.
"""
