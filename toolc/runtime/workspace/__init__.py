"""The folder that a call works in: which folder may be mounted, and safe access to its files.

Start reading in ``mount``. ``dir_handle`` opens files without following symbolic links, ``result_folder`` reads
files that a call wrote, ``scratch`` and ``scratch_sweep`` make and remove temporary folders, and
``toolc.runtime.workspace.transaction`` commits changes or discards them.

May import: ``toolc.sandbox.host``, ``toolc.sandbox.base`` and ``toolc.model``.

Public names: ``DirHandle``, ``openat2_beneath``, ``rename``, ``write_all``, ``FOLDER``, ``READ``,
``RENAME_EXCHANGE``, ``RENAME_NOREPLACE`` (``dir_handle``); ``mount`` (``mount``); ``FinalFolder``, ``FolderError``,
``format_path``, ``read_beneath``, ``RealFolder``, ``ResultFolder`` (``result_folder``); ``make_scratch``,
``remove_stale`` (``scratch``); ``discard`` (``scratch_sweep``).
"""
