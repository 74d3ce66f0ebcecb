"""Review of spec changes in Git: what changed for a model, and what a tool may now do in addition.

Nothing here runs a tool, checks out a commit or writes into a repository. Start reading in ``compare``::

    name of a state -> State        read and compiled                toolc.review.sources.states
    State, State    -> Pairing      match the tools of both states   toolc.review.model.pairing
    Pairing         -> Difference   every change, with its grade     toolc.review.compare
    Difference      -> text         for users and for programs       toolc.review.reports

``contract`` has the rules CON (what callers send and receive), ``risk`` the rules RSK.

- ``accepted``: the file of accepted changes; ``--fail-on`` thresholds (``FailOn``, ``fails``). Public:
  ``parse_fail_on``, ``read``, ``remaining``, ``with_new_acceptances``.
- ``argument_changes``: new values that a command, a URL or code can receive, because a schema allows more (RSK20).
- ``compare``: ``compare`` runs all rules on each pair of tools; ``Difference`` is the result.
- ``locked``: changes that a lock file does not approve, with the fields from Git. Public: ``History``, ``LockChange``,
  ``as_json``, ``as_text``, ``lock_changes``, ``with_known_pins``.
- ``concealed``: removes credentials from the texts of a change.
- ``project_changes``: changes of policies, lint settings, suppressions (RSK12) and providers; required approvers.
  Public: ``central_policy_changes``, ``policy_violations``.
- ``settings_source``: whether the acceptances and settings of the base or the head apply; the file of ``--policy``.
  Public: ``NO_EFFECT``, ``CentralPolicy``, ``SettingsSource``, ``baseline_of``, ``source_for``,
  ``read_central_policy``, ``with_source``.
- ``summary``: changes per grade, new access and cost in tokens, in about ten lines.
- ``weakened_tests``: tests of a tool that were removed or expect less (RSK18).

May import: the packages of ``compiler`` and the layers below them, never ``runtime``. Inside, the order is ``model``;
``concealed``, ``contract``, ``risk``, ``sources`` and ``project_changes``; ``compare``; ``accepted``,
``settings_source`` and ``summary``; ``reports``; ``locked``.
"""
