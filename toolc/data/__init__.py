"""Files that ship with toolc: rule pages, advisories, probes and schemas.

``rules`` has one Markdown page for each code that toolc can print, read by ``rule_pages``. ``paths`` finds the folders
in a wheel and in a checkout.

May import: ``toolc.model``.

Public names: ``PageCode``, ``rule_pages``, ``RulePage``, ``EXAMPLE`` (``rule_pages``); ``packaged_path`` (``paths``).
"""
