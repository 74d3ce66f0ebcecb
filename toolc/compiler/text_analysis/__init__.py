"""Analysis of text for ``checks`` and ``located_tool``. Start reading in ``near_duplicates``.

- ``credentials``: names of credentials, and literal values that are credentials. Public: ``credential_header``,
  ``credential_name``, ``credentials_in``, ``is_exempt``, ``without_scheme``.
- ``near_duplicates``: descriptions that share most of their words, and the threshold.
- ``secret_patterns``: strings that look like keys, tokens or passwords. Public: ``find_secrets``.

May import: ``model``.
"""
