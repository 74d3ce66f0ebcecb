"""The tools that ``toolc doctor --probe`` runs (``toolc.doctor.probes``): specs, and their code for sandboxes.

- ``attempts``: one function for each attempt to do something that a sandbox must prevent. Start reading here.

May import: the standard library only, because the code runs inside sandboxes.
"""
