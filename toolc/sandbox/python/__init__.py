"""The Python interpreter and the packages of a sandbox.

Start reading in ``interpreter``: the image's Python, or the one that toolc mounts, which ``portable`` makes.
``packages`` installs a tool's packages with ``wheels_only``, pip without the permission to start programs.

May import: ``toolc.sandbox.host``, ``toolc.sandbox.images`` and ``toolc.model``.

Public names: ``installed_packages``, ``remove_packages`` (``packages``).
"""
