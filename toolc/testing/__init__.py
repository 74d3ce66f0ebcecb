"""``toolc test``: the tests of specs; and an engine for the tests of programs that embed toolc.

Start reading in ``cases``, then ``runner``. ``expectations`` compares results, ``workspace`` prepares and compares
files, ``reports`` prints, ``updates`` writes new expectations into specs, and ``fake_engine`` answers calls with a
Python function.

May import: ``toolc.client`` and every package below it.

Public names: ``Case``, ``CaseFilter``, ``CaseSet``, ``find_cases``, ``Tested`` (``cases``); ``compare``
(``expectations``); ``as_json``, ``as_junit``, ``as_line``, ``as_summary`` (``reports``); ``Make``, ``run_cases``
(``runner``); ``update`` (``updates``).
"""
