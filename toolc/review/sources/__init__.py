"""The two states of a review: read from a commit, a folder, a registry file or the working tree.

Start reading in ``states``. ``repository`` reads commits with Git's plumbing commands, ``unchanged_specs`` selects
the specs that must be compiled.

May import: ``toolc.review.model``, ``toolc.compiler`` and ``toolc.model``.

Public names: ``path_in_repository``, ``Repository`` (``repository``); ``two_states`` (``states``).
"""
