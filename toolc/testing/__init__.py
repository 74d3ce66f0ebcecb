"""``toolc test``, which runs the tests in specs, and an engine for the tests of programs that embed toolc.

- ``cases``: finds and selects tests. Start reading here, then in ``runner``. Public: ``Case``, ``CaseFilter``,
  ``CaseSet``, ``find_cases``, ``Tested``.
- ``expectations``: compares a result with ``expect``: data, files, changes, connections. Public: ``compare``.
- ``fake_engine``: ``FakeEngine``, for which a Python function returns the outcomes of calls.
- ``fake_programs``: programs and files in an open sandbox of ``FakeEngine``. Public: ``FakePrograms``.
- ``recorded_results``: reads what ``toolc test --json`` wrote. Public: ``read_results``.
- ``reports``: text, JSON and JUnit XML. Public: ``as_json``, ``as_junit``, ``as_line``, ``as_summary``.
- ``runner``: runs tests concurrently. Public: ``ExecutorFactory``, ``run_cases``.
- ``updates``: turns results into new expectations for ``--update`` (``toolc.compiler.fixes.update_tests`` writes them).
  Public: ``update``.
- ``workspace``: the files of a test before and after its call.

May import: ``client`` and every package below it.
"""
