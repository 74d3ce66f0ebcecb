"""The runtime, which takes a call to its result. It never reads a spec file.

Start reading in ``execution.single_call``. The packages:

- ``argument_binding``: ``bind``, which checks arguments and fills in defaults.
- ``argument_checks``: checks of the public functions' arguments, and the wording of type errors. Public: ``boolean``,
  ``call_id``, ``claims``, ``function``, ``hook``, ``integer``, ``json_object``, ``json_value``, ``listener``,
  ``number``, ``of_type``, ``one_of``, ``optional``, ``path``, ``seconds``, ``sequence``, ``string_list``, ``text``,
  ``MAX_CALL_ID``, ``MAX_DEPTH``.
- ``argument_correction``, ``argument_problems``: arguments as a model meant them; messages for models about the others.
- ``argument_values``: what holds for every argument: JSON, depth, size, defaults. Public: ``BindError``.
- ``call_details``: the ``details`` of a result: durations (``Timing``), the identity of the call, and its sandbox.
- ``caller``: interfaces of backends that make further calls. Public: ``CallContext``, ``ignore_event``.
- ``cancellation``: ``Cancellation`` and ``Deadline``, which end waits, and a fair lock. Public: ``check_open``,
  ``InterruptedWaitError``.
- ``composed_backends``: the backends that make calls, which are imported before a call's time begins. Public:
  ``import_mcp``.
- ``composite``, ``agents``: calls that call tools.
- ``execution``: whether a call may run; its deadline and retries; batches, asynchronous calls.
- ``host_function``: runs a function of the embedding program on a thread: context, progress, generators.
- ``http``, ``egress``: requests of HTTP tools; connections of a call and allowed hosts (``egress.egress_policy``).
- ``pool``: sandboxes that are started ahead of their calls.
- ``sandboxed``, ``sessions``, ``wire``: one call in a sandbox; sandboxes for several calls; the host's side of the
  protocol with the guest, and the deadline if the guest does not end the call (``wire.call_loop``).
- ``result_validation``: compares the data of a tool with its ``result.schema``.
- ``secrets``, ``workspace``, ``output``: redaction; files; captured output, its limits and events.

Four modules retry: ``execution.retry`` a call with ``retry``, ``toolc.guest.http.exchange`` HTTP requests,
``agents.turns`` requests to a model, and ``toolc.sandbox.host.kernel`` the start of a sandbox.

May import: ``sandbox``, ``backends``, ``providers``, ``policy``, ``telemetry``, ``guest``, ``validation`` and
``model``; never ``compiler``. The order of the packages inside is a contract in pyproject.toml.
"""
