"""Contract changes: what callers may send and receive, compared keyword by keyword.

Start reading in ``changes``, which compares whole tools, then ``schemas``. ``bounds`` compares keywords with values,
``movement`` is one changed keyword, ``witness`` finds values that one schema accepts and the other does not.

Input is contravariant: what was accepted must still be accepted. Output is covariant: what may be returned must
have been promised before. A changed keyword is reported once, as narrower or wider, and graded by its side. The
rules follow oasdiff's (``checker/rules.go``) except where docs/guides/reviewing-changes.md says otherwise.

May import: ``toolc.review.model``, ``toolc.compiler.schema``, ``toolc.document``, ``toolc.validation`` and
``toolc.model``.

Public names: ``Aspect``, ``Direction``, ``grade``, ``rule``, ``SchemaChange`` (``movement``).
"""
