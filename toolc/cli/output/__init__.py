"""What commands print for users: results, progress, prompts and errors.

Start reading in ``result``. Findings are reported by ``toolc.reporters``, and reviews by ``toolc.review.reports``.

- ``batch_progress``: counts the results of ``toolc batch`` and their durations, and shows them.
- ``connections``: the connections of a call, for ``--explain-network``.
- ``failure``: the message of an exception and its exit code (the numbers of toolc's errors are in
  ``toolc.model.errors``).
- ``live``: the output and progress of a running call.
- ``loss_report``: what providers cannot represent in a build, and which limits it exceeds.
- ``prompts``: asks to confirm a call and to commit its changes, and lists the changed files.
- ``result``: the content, errors and timing of a result.
- ``tool_text``: one tool for ``toolc show``: parameters, permissions, effective values, the definition for a provider.

May import: every package below ``cli``. ``cli.main`` and ``cli.commands`` import this package.
"""
