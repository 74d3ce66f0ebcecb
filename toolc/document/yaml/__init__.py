"""The YAML 1.2 parser, based on PyYAML and libyaml.

Start reading in ``parser``; ``compose`` makes PyYAML's nodes with a depth limit, ``builder`` turns them into
documents by the core schema, and ``errors`` has the messages.

May import: ``toolc.document`` (``nodes``, ``edits``, ``syntax_errors``) and ``toolc.model``.

Public names: ``scalars`` (``compose``); ``parse_yaml`` (``parser``).
"""
