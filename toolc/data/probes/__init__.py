"""The tools of ``toolc doctor --probe``, which ``toolc.doctor.probes`` runs: specs, and the code they run in sandboxes.

- ``attempts``: one function for each attempt to do what a sandbox must prevent. Start reading here.

May import: the standard library only; the code runs inside sandboxes.
"""
