"""Risks: what a call may do that it could not do before. Each rule is a function with its number; see ``base``.

Rules compare the permissions of a tool (``toolc.model.permissions``), so that a composite includes those of its
steps. What
changes the effect digest and is not reported by another rule is reported by ``code.remaining_effects``.
"""
