"""Generate specs from an OpenAPI document. All modules are pure functions of the document and the options.

- ``generate``: the files of a document (``generate``, ``Options``, ``Generated``). Start reading here. Public:
  ``check_version``, ``name_of``, ``LeftOut``.
- ``source``: parses a document, follows references (``Document``), and finds lines (``Positions``). Public: ``Fetch``,
  ``LeftOutError``, ``Target``, ``MAX_DOCUMENT``, ``MAX_WITH_POSITIONS``.
- ``operations``: which operations are chosen (``Choice``), and the names of their tools. Public: ``names_of``,
  ``operations``, ``selected``, ``Operation``, ``READING``.
- ``tools``: the spec of an operation. Public: ``tool_spec``.
- ``requests``: parameters and bodies, with their styles, and the arguments (``Request``). Public: ``Arguments``,
  ``PLACES``.
- ``servers``: the server of an operation (``Server``). Public: ``check_variables``, ``server_url``, ``texts_of``.
- ``responses``: how responses are read, retried and turned into pages. Public: ``read_responses``, ``Response``.
- ``security``: authentication and secrets. Public: ``read_security``, ``Security``.
- ``schemas``: converts schemas to JSON Schema 2020-12. Public: ``converted``, ``one_line``,
  ``Schemas``.

May import: ``importers.yaml_text``, ``compiler``, ``document``, ``validation`` and ``model``.
"""
