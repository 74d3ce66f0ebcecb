"""Policies: rules of a project or an organization that all tools must follow.

This package has no side effects. ``toolc.compiler.project.policy`` parses policies. They are checked against the
permissions of a call (``toolc.model.permissions``), so the permissions of a composite include those of its steps.
"""
