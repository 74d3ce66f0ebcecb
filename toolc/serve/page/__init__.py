"""The page of ``toolc serve --http``: its HTML, CSS and JavaScript, which are also in the file of ``toolc catalog``.

The modules of JavaScript need no build step. Start reading in ``main.js``, which has the table of views. ``api.js``
sends requests, ``elements.js`` makes elements from text, and each other module is a view.

- ``catalog``: the list of tools, and everything about one. Public: ``Catalog``, ``TokenEstimates``.
- ``catalog_file``: the catalog as one file, and the files of the page. Public: ``INDEX``, ``catalog_file``,
  ``page_files``.
- ``reports``: what ``toolc lock --check`` and ``toolc diff`` say now. Public: ``Sources``.

May import: ``client`` and every package below it.
"""
