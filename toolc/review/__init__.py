"""Review of spec changes in Git: what changed for a model, and what a tool may newly do.

Start reading in ``compare``. Data flows in one direction::

    name of a state -> State        read and compiled                toolc.review.sources.states
    State, State    -> Pairing      match the tools of both states   toolc.review.model.pairing
    Pairing         -> Difference   every change, with its grade     toolc.review.compare
    Difference      -> text         for users and for programs       toolc.review.reports

Nothing here runs a tool, checks out a commit or writes into a repository. ``rules`` declares every rule.

May import: the packages of ``toolc.compiler`` and the layers below them; never ``toolc.runtime``. Inside, the order
is ``model``; ``contract``, ``risk``, ``sources`` and ``project_changes``; ``compare`` and ``rules``; ``accepted``
and ``summary``; ``reports``.

Public names: ``fails``, ``parse_fail_on``, ``read``, ``read_at_base``, ``remaining``, ``with_new_acceptances``
(``accepted``); ``compare``, ``Difference`` (``compare``); ``policy_violations`` (``project_changes``); ``summary``
(``summary``).
"""
