"""Policies: the rules of a project or an organization for all tools. All functions are pure.

A new key needs a field of ``Policy``, a function in ``rules`` and an entry in ``comparison``. It is read in
``toolc.compiler.project.policy`` and described in ``toolc/data/schemas.yaml``. Policies are compared with a tool's
permissions (``toolc.model.permissions``), so a composite includes those of its steps.
``toolc.runtime.egress.egress_policy`` decides whether a single connection of a call is allowed.

- ``comparison``: ``relaxations``: what a policy newly allows. Public: ``Relaxation``.
- ``policy``: ``Policy``: its keys, and patterns of paths. Start reading here. Public: ``Approval``, ``BackendKind``,
  ``PolicyError``, ``PolicyKey``, ``RequiredField``.
- ``rules``: ``violations``: one function per key; ``enforce_policies`` refuses a call. Public: ``Violation``.

May import: ``model``.
"""
