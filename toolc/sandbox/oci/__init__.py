"""The OCI engine: sandboxes run by runc, without a daemon. Start reading in ``engine``, then ``oci_sandbox``.

- ``bundles``: the runtime folder of a process: bundles, roots, names of sandboxes.
- ``config``: ``config.json``: namespaces, mounts, limits, process.
- ``engine``: ``OciEngine``: starts a sandbox; errors at the start; leftovers.
- ``filter_program``: compiles a seccomp profile with libseccomp. Public: ``NO_LIBRARY``.
- ``fork_server``: a sandbox whose process 1 forks a process for each call.
- ``images``: unpacks images from archives or a daemon; missing images. Public: ``export_image``,
  ``import_image``, ``save_image``.
- ``oci_sandbox``: one live sandbox: the runtime's process, its end, its stderr.
- ``probe``: requirements that this host does not meet, with remedies; versions, capabilities. Public: ``runtime``,
  ``NEEDED_SETTINGS``, ``VERSION_SECONDS``.
- ``root``: the root file system: an image, or the host's programs.
- ``sweep``: removes control groups and processes. Also runs as a program.
- ``user_namespace``: users of a sandbox, user namespaces of idmapped mounts.

May import: ``sandbox``, ``host``, ``images`` and ``python``; ``guest`` and ``model``; ``sandbox.docker`` from
``images`` only, because images may come from a Docker daemon.
"""
