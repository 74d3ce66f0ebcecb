"""Policies: the rules of a project or an organization for all tools.

Start reading in ``policy``; ``rules`` reports violations, one function per key of a policy, and ``comparison``
finds what a policy newly allows. The functions are pure and compare a policy with a tool's permissions
(``toolc.model.permissions``), so a composite includes those of its steps. ``toolc.compiler.project.policy`` reads
policies from files. Whether one connection of a call is allowed is decided in ``toolc.runtime.egress.policy``.

May import: ``toolc.model``.

Public names: ``Policy``, ``PolicyError``, ``PolicyKey``, ``RequiredField``, ``BackendKind``, ``Approval``
(``policy``); ``violations``, ``Violation``, ``enforce_policies`` (``rules``); ``relaxations``, ``Relaxation``
(``comparison``).
"""
