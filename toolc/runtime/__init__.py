"""The runtime: from a validated call to its result. It never reads a spec file.

Start reading in ``execution.single_call``. Where to find what:

- ``execution``: whether a call may run, retries, batches and asynchronous calls.
- ``sandboxed``, ``sessions``, ``wire``: one call in a sandbox; sandboxes that serve several calls; the protocol
  with the guest.
- ``composite``, ``agents``: calls that call tools.
- ``http``, ``egress``: requests of HTTP tools; connections that a call may open. ``egress.policy`` decides whether
  a host is allowed.
- ``secrets``, ``workspace``, ``output``: redaction; files; captured output, its limits and events.

The modules of this package are used by all of them: ``cancellation`` (``Cancellation`` and ``Deadline``, which end
waits), ``validation`` of arguments and results, ``caller`` (calls that make calls), ``call_durations`` and
``host_function`` (functions in this process). The deadline of a call is computed in ``execution.single_call``.
Inside a sandbox ``toolc.guest.supervisor`` ends the call at its deadline; on the host ``wire.call_loop`` ends it if
the guest does not.

May import: ``toolc.sandbox``, ``toolc.backends``, ``toolc.providers``, ``toolc.policy``, ``toolc.guest``,
``toolc.validation`` and ``toolc.model``; never ``toolc.compiler``. The order of the packages inside is a contract
in ``pyproject.toml``.

Public names: ``identity``, ``sandbox_details``, ``Timing`` (``call_durations``); ``no_caller``
(``caller``); ``Cancellation`` (``cancellation``); ``bind``, ``BindError``, ``validate_result`` (``validation``).
"""
