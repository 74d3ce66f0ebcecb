"""Results of ``toolc check`` and ``toolc build`` that are reused while their inputs are unchanged.

Start reading in ``check_cache``.

- ``build_cache``: ``BuildCache``: skips a build whose inputs and output folder are unchanged.
- ``changed_tools``: compiles and renders only the tools that changed since the last build. Public: ``build_changed``.
- ``check_cache``: ``check_specs``: the findings of the last ``toolc check``, if they are valid. Public: ``Checked``.
- ``file``: the file format, the cache folder and its limits; findings as JSON. Public: ``cache_folder``, ``digest``,
  ``load``, ``save``.
- ``file_results``: results of single files: after an edit only changed files are compiled.
- ``parallel``: ``compile_many``: compiles files in several processes; outlines of tools for the checks of all tools.
- ``validity``: whether a cached result is still valid: digests of everything that was read (``CacheKey``,
  ``versions``).

May import: every package of ``compiler`` except ``fixes``, and what they may import.
"""
