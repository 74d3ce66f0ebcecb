"""Generate specs from Python functions, which are read as syntax trees and never imported.

- ``generate``: the files of an import. Start reading here. Public: ``generate``.
- ``tool_functions``: which functions of a file are tools, and the keys of a spec from decorators, signatures and
  docstrings.
- ``hints``: converts type hints to JSON Schema, and to the code that turns a JSON value into the type.
- ``extract``: the statements of a file that a function needs, without statements of a framework.
- ``permissions``: the packages, hosts and secrets that the code of a tool uses.
- ``needs``: the files and packages that code imports. Public: ``CodeNeeds``, ``Versions``, ``code_needs``.
- ``modules``: files of Python below a folder, and what the names in them mean. Public: ``LeftOutError``,
  ``Modules``.

May import: ``compiler``, ``data`` and ``model``.
"""
