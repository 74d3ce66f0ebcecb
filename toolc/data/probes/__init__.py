"""The tools of ``toolc doctor --probe``: specs, and ``attempts``, the code that they run in sandboxes.

Each attempt tries something that a sandbox must prevent. ``toolc.doctor.probes`` runs them.

May import: the standard library only; the code runs inside sandboxes.
"""
