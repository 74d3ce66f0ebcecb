"""``toolc test``, which runs the tests in specs, and an engine for the tests of programs that embed toolc.

Start reading in ``cases``, then ``runner``. ``expectations`` compares results, ``workspace`` prepares and compares
files, ``reports`` formats the results, ``updates`` writes new expectations into specs, and in ``fake_engine`` a Python
function returns the outcomes of calls.

May import: ``toolc.client`` and every package below it.

Public names: ``Case``, ``CaseFilter``, ``CaseSet``, ``find_cases``, ``Tested`` (``cases``); ``compare``
(``expectations``); ``as_json``, ``as_junit``, ``as_line``, ``as_summary`` (``reports``); ``ExecutorFactory``,
``run_cases`` (``runner``); ``update`` (``updates``).
"""
