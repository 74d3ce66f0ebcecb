"""The page of ``toolc serve --http``. ``toolc catalog`` writes the same HTML, CSS and JavaScript to a file.

The modules of JavaScript need no build step. Start reading in ``main.js``, which has the table of views. ``api.js``
sends requests, ``elements.js`` creates elements from text, and every other module is a view.

- ``catalog``: the list of tools, and the details of a tool. Public: ``Catalog``, ``TokenEstimates``.
- ``catalog_file``: the catalog as one file, and the files of the page. Public: ``INDEX``, ``catalog_file``,
  ``page_files``.
- ``reports``: the current reports of ``toolc lock --check`` and ``toolc diff``. Public: ``Sources``.

May import: ``client`` and every package below it.
"""
