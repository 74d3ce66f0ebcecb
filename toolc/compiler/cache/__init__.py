"""Results of ``toolc check`` and ``toolc build`` that are reused while their inputs are unchanged.

Start reading in ``check_cache``. ``answers`` decides whether a cached result is valid, ``pieces`` has the results
of single files, ``parallel`` compiles many files in several processes, ``file`` is the file format, and
``build_cache`` skips a build whose inputs and output are unchanged.

May import: every package of ``toolc.compiler`` except ``fixes``, and what they may import.

Public names: ``versions`` (``answers``); ``BuildCache`` (``build_cache``); ``check_specs`` (``check_cache``);
``cache_folder``, ``digest``, ``load``, ``save`` (``file``); ``compile_many`` (``parallel``).
"""
