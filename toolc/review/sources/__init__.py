"""The two states of a review: read from a commit, a folder, a registry file or the working tree.

- ``checkout``: submodules, and Git attributes that convert files: the specs of a commit do not
  show them. Public: ``checkout_changes``.
- ``repository``: runs Git: commits, trees, files, symbolic links; nothing is checked out.
- ``reviewed_files``: files other than specs on both sides, such as accepted changes. Public: ``ReviewedFiles``.
- ``states``: ``two_states``: what a name refers to, its specs, compiled. Start reading here. Public:
  ``baseline_here``, ``state_of``.

May import: ``review.model``, ``compiler`` and ``model``.
"""
