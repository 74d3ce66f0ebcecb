"""Policies: the rules of a project or an organization for all tools. All functions are pure.

A new key is a field of ``Policy``, a function in ``rules``, an entry in ``comparison``, and is read in
``toolc.compiler.project.policy`` and described in ``toolc/data/schemas.yaml``. Policies are compared with a tool's
permissions (``toolc.model.permissions``), so a composite includes those of its steps. Whether one connection of a
call is allowed is decided in ``toolc.runtime.egress.egress_policy``.

- ``comparison``: ``relaxations``: what a policy newly allows. Public: ``Relaxation``.
- ``policy``: ``Policy``: its keys, and patterns of paths. Start reading here. Public: ``Approval``, ``BackendKind``,
  ``PolicyError``, ``PolicyKey``, ``RequiredField``.
- ``rules``: ``violations``: one function per key; ``enforce_policies`` refuses a call. Public: ``Violation``.

May import: ``model``.
"""
