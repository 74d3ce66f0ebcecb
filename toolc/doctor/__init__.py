"""``toolc doctor``: the limits that this host's engines enforce, known advisories, and probes in real sandboxes.

Start reading in ``host_report``.

- ``advisories``: compares versions with the known vulnerabilities in ``toolc/data/advisories.toml``. Add new ones
  there.
- ``components``: the programs that sandboxes of an engine use, and their versions.
- ``diagnosis``: the results as data and as JSON. Public: ``Diagnosis``, ``Probed``, ``to_json``, ``Trial``.
- ``diagnosis_text``: the report as text. Public: ``to_text``.
- ``host_report``: the engines of this host: limits, isolation, updates and remedies. Public: ``EngineReport``,
  ``report_engines``, ``report_host``.
- ``probes``: runs attempts to escape and looks for traces on the host (``--probe``). Public: ``load_probes``,
  ``load_tools``, ``run_probes``.

May import: ``testing``, ``client`` and every package below them.
"""
