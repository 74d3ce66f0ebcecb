"""The secrets of a call, and their redaction from everything that leaves it.

Start reading in ``redaction``; ``encodings`` lists the forms in which a secret can appear.

May import: ``toolc.model``.

Public names: ``CallSecrets``, ``expose_secrets``, ``no_secrets``, ``redact_block``, ``redact_result``,
``RedactedStream``, ``Redactor``, ``Reveal``, ``secrets_of`` (``redaction``).
"""
