"""The secrets of a call, and their redaction from everything that leaves it.

- ``encodings``: the forms in which a secret can appear: base64, URLs, JSON, HTML, shells; the shortest form.
- ``redaction``: ``Redactor`` and ``RedactedStream``; which secrets a call receives, as variables or files. Start
  reading here.

May import: ``model``.
"""
