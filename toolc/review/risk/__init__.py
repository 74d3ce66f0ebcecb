"""Risks: what a call may now do in addition. Each rule is a function with a number.

Rules compare the permissions of a tool (``toolc.model.permissions``), so a composite includes those of its steps.
A new rule is a function here and its page in ``toolc/data/rules``.

- ``risk_rule``: the input of a rule (``Sides``), and its registration. Start reading here.
- ``code``: programs, called tools, files and packages; ``remaining_effects``: environment variables and other effects
  that no other rule reports.
- ``data_access``: workspace modes and paths; secrets, and credentials that are declared public;
  arguments that the host takes from the caller.
- ``network_risks``: destinations, HTTP requests, data that flows from one tool to another.
- ``lookalike``: host names that may be confused with others.
- ``sandbox_risks``: image, isolation, limits, lifetime.
- ``text_risks``: annotations, text that a model reads, tags.

May import: ``review.model``, ``compiler`` and ``model``.
"""
