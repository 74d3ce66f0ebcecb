"""The secrets of a call, and their redaction from everything that leaves it.

Start reading in ``redaction``; ``encodings`` lists the forms in which a secret can appear.

May import: ``toolc.model``.

Public names: ``CallSecrets``, ``exposed``, ``no_secrets``, ``redacted``, ``redacted_block``, ``RedactedStream``,
``Redactor``, ``Reveal``, ``secrets_of`` (``redaction``).
"""
