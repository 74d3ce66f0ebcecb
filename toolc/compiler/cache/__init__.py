"""Caches of ``toolc check`` and ``toolc build``, and compiling in several processes."""
