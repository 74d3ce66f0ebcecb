"""Policies: the rules of a project or an organization for all tools. All functions are pure.

A new key needs a field of ``Policy`` in ``toolc.model.spec.policy``, a function in ``rules`` and an entry in
``comparison``. Policies are compared with a tool's permissions (``toolc.model.permissions``), so a composite includes
those of its steps. ``toolc.runtime.egress.egress_policy`` decides whether a single connection of a call is allowed.

- ``comparison``: ``relaxations``: what a policy newly allows. Public: ``Relaxation``.
- ``rules``: ``violations``: one function per key; ``enforce_policies`` refuses a call. Start reading here. Public:
  ``Violation``.

May import: ``model``.
"""
