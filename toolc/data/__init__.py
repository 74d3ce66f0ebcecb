"""Files that ship with toolc: rule pages, advisories, probes and schemas.

``rules`` has one Markdown page for each code that toolc can print, read by ``pages``. ``paths`` finds the folders
in a wheel and in a checkout.

May import: ``toolc.model``.

Public names: ``PageCode``, ``pages``, ``RulePage``, ``EXAMPLE`` (``pages``); ``packaged_path`` (``paths``).
"""
