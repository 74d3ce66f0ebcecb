"""The two states of a review: read from a commit, a folder, a registry file or the working tree.

- ``checkout``: submodules, and Git attributes that convert files, which the specs of a commit do not show. Public:
  ``checkout_changes``.
- ``repository``: runs Git to read commits, trees, files and symbolic links. Nothing is checked out. Public:
  ``Repository``.
- ``reviewed_files``: files other than specs on both sides, such as accepted changes. Public: ``ReviewedFiles``.
- ``states``: ``two_states`` resolves names to states and compiles their specs. Start reading here. Public:
  ``baseline_here``, ``state_of``.

May import: ``review.model``, ``compiler`` and ``model``.
"""
