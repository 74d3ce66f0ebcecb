"""The data of a review: the two states, which tool became which, and the changes.

Start reading in ``state``, then ``change``. ``pairing`` matches the tools of two states, ``schema_node`` is a pair
of schemas at one place, and ``text_diff`` compares the text that a model reads.

May import: ``toolc.compiler`` and ``toolc.model``; no other package of ``toolc.review``.

Public names: ``Counterexample``, ``fingerprint``, ``Grade``, ``Kind``, ``Route``, ``Side``, ``ToolChange``,
``GRADES`` (``change``); ``pairs``, ``Status``, ``ToolPair`` (``pairing``); ``is_same``, ``join_values``, ``label``,
``list_under``, ``map_under``, ``Node``, ``root``, ``shorten``, ``to_json_text`` (``schema_node``); ``State``
(``state``); ``as_in_spec``, ``changed_parts``, ``format_route``, ``leaves``, ``Part``, ``texts``, ``word_diff``
(``text_diff``).
"""
