"""Reviewing specs in Git: what changed for a model, and what a tool may now do.

Data flows one way::

    name of a state -> State        read and compiled               toolc.review.sources.states
    State, State    -> Pairing      which tool became which         toolc.review.model.pairing
    Pairing         -> Difference   every change, with its grade    toolc.review.compare
    Difference      -> text         for people and for programs     toolc.review.reports

Nothing here runs a tool, checks out a commit or writes into a repository.
"""
