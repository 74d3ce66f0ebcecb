"""The OCI engine: sandboxes made by runc, without a daemon.

Start reading in ``engine``, then ``sandbox`` (one container). ``config`` writes ``config.json``, ``bundles`` the
runtime folder, ``root`` is the host's programs as a root, ``images`` unpacks images, ``user_namespace`` maps
owners, ``probe`` lists what the host lacks, and ``sweep`` cleans up.

May import: ``toolc.sandbox``, ``host``, ``images`` and ``python``; ``toolc.guest`` and ``toolc.model``;
``toolc.sandbox.docker`` from ``images`` only, because images may come from a Docker daemon.

Public names: ``export_image``, ``save_image`` (``images``); ``runtime``, ``NEEDED_SETTINGS``,
``VERSION_SECONDS`` (``probe``).
"""
