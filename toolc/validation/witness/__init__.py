"""Values that show how schemas differ: some schemas accept them, and others refuse them.

- ``arrays``, ``numbers``, ``objects`` and ``texts``: values of one type.
- ``formulas``: the keywords of a schema as clauses with alternatives. Public: ``KEYWORDS``, ``constants``.
- ``joined``: two schemas in one, with references that lead to either. Public: ``ANNOTATIONS``, ``Joined``,
  ``plain_text``.
- ``results``: the outcome of a search. Public: ``Found``, ``Result``, ``Unsolved``.
- ``solver``: finds a value that satisfies some schemas and violates others, or proves that there is none. Start
  reading here. Public: ``Solver``, ``value_refused_by``.

May import: ``validation`` and ``model``.
"""
