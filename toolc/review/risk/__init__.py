"""Risks: what a call may do that it could not do before. Each rule is a function with its number; see ``base``.

Rules compare the permissions of a tool (``toolc.model.permissions``), so a composite includes those of its steps.
Changes of the effect digest that no other rule reports are reported by ``code.remaining_effects``. A new rule is a
function here and its declaration in ``toolc.review.rules``.

May import: ``toolc.review.model``, ``toolc.compiler`` and ``toolc.model``.

Public names: ``Sides``, ``RISK_RULES`` (``base``).
"""
