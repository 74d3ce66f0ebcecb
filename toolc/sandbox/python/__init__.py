"""The Python interpreter and the packages of a sandbox.

- ``interpreter``: the Python that runs the guest: the image's, or one that toolc mounts. Start reading here.
- ``packages``: installs the ``requirements`` of a tool with pip; pip's options and errors; removal of unused packages.
  Public: ``installed_packages``, ``remove_packages``, ``require_pip``.
- ``portable``: a program that writes a Python that runs in any image.
- ``wheels_only``: pip without the permission to start programs.

May import: ``sandbox.interface``, ``sandbox.host``, ``sandbox.images`` and ``model``.
"""
