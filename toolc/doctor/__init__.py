"""``toolc doctor``: what this host's engines can enforce, known advisories, and probes in real sandboxes.

Start reading in ``host_report``. ``components`` and ``advisories`` compare the versions of Docker's components with
known vulnerabilities, ``probes`` runs attempts to escape, ``diagnosis`` holds the results and writes JSON, and
``text`` prints them for users.

May import: ``toolc.testing``, ``toolc.client`` and every package below them.

Public names: ``Diagnosis``, ``Probed``, ``to_json``, ``Trial`` (``diagnosis``); ``EngineReport``,
``report_engines``, ``report_host`` (``host_report``); ``load_probes``, ``load_tools``, ``run_probes`` (``probes``);
``to_text`` (``text``).
"""
