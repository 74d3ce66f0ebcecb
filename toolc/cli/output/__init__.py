"""What commands print for users: results, progress, prompts and errors.

``failure`` maps exceptions to messages and exit codes, ``live`` shows a call while it runs, ``prompts`` asks for
confirmation and lists the files that a call changed, ``result`` prints a result and the connections of a call, and
``tool`` prints one tool. Reports of findings are in ``toolc.reporters``, those of a review in
``toolc.review.reports``.

May import: every package below ``toolc.cli``. The modules of ``toolc.cli`` import this package.

Public names: ``exit_code`` (``failure``); ``Live``, ``LiveDisplay``, ``Progress`` (``live``); ``confirmation``,
``print_changes``, ``CommitPrompt``, ``Prompts`` (``prompts``); ``explain``, ``print_content``, ``print_details``,
``print_timing`` (``result``); ``tool_text`` (``tool``).
"""
