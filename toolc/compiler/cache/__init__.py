"""The last answers of ``toolc check``, ``build`` and ``run``, which are reused while everything is unchanged.

Start reading in ``answers``.

- ``answers``: ``check_specs`` returns the findings of a command, from the cache if they are still valid. Public:
  ``Answer``, ``Inputs``.
- ``cached_build``: the last build, if its folder is unchanged. Public: ``store_build``, ``unchanged_build``.
- ``cached_registry``: the registry of unchanged specs. Public: ``registry_of_specs``.
- ``file``: the cache folder and the format of its files. Public: ``INVALID_CACHE``, ``cache_folder``, ``load``,
  ``save``.

May import: every package of ``compiler`` except ``fixes``, and what they may import.
"""
