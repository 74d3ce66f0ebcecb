"""The code that runs inside a sandbox: a supervisor and its worker, sent as source code at start.

Standard library only, Python 3.9 and later. Start reading in ``supervisor``. ``forks`` makes a process for each call,
``http`` runs HTTP tools in the worker, ``network`` is the network of the sandbox, ``programs`` serves
``toolc.Sandbox`` and the sessions of shell tools. ``toolc.runtime.wire`` is the other side of ``frames``.

- ``answer``: what a Python function returned or raised, as JSON: generators, tracebacks, kinds of errors. Public:
  ``failure``, ``GeneratorOutput``, ``success``, ``MAX_TRACEBACK``.
- ``bundle``: runs on the host: which modules are sent to a sandbox (``MODULES``), and the first line that it runs.
  Public: ``BOOTSTRAP_ARGUMENTS``, ``CANNOT_CONNECT``, ``MARSHAL_VERSION``.
- ``connections``: the host that a function connected to last, for the error of a closed network.
- ``context``: ``Context`` for functions (progress, log, files), and content blocks: ``Result``, ``Resource``,
  ``ToolError``. Public: ``audio_type``, ``content_of``, ``dump``, ``image_type``, ``to_data``,
  ``Updates``.
- ``flow_control``: how much may be sent on a connection (``FlowWindow``), and how often progress is reported. Public:
  ``max_reports``, ``RateLimiter``, ``window``.
- ``frames``: the protocol between host and guest. Public: a constant for each kind of frame (``CALL``), stream
  (``STDIN``) and limit (``MAX_DATA``); ``encode``, ``Frame``, ``FrameReader``, ``FrameError``, ``ProtocolError``.
- ``job``: ``Job`` and ``HttpJob``, the CALL frame: writes files and secrets, sets resource limits.
- ``json_text``: control messages as JSON; the module ``json`` is imported only to read them. Public: ``decode_json``,
  ``encode_json``.
- ``launch_args``: the arguments of process 1: ``pids``, ``memory``, separate kernel, identity of the workspace. Public:
  ``boot_id``, ``FORK_ARGUMENT``, ``LOWER``, ``NETWORK_ARGUMENT``, ``preload_argument``.
- ``loader``: second stage of the start: makes the sent modules importable.
- ``preload``: imports the modules of ``preload:`` before the call.
- ``processes``: starts, kills and reaps processes; memory and CPU usage, OOM kills.
- ``python_function``: ``backend.python``: imports the file, calls the function, awaits coroutines.
- ``session``: several calls of a function in one worker (``lifetime: session``). Public: ``CallLine``.
- ``streams``: the supervisor's ends of stdin, stdout and stderr: bounded buffers, lines of progress.
- ``supervisor``: process 1: starts the worker, forwards output, kills the call at its deadline.
- ``truncate``: cuts texts at the end or in the middle, and marks the place.
- ``values``: the JSON of dates, decimals, sets and others in the result of a function. Public: ``to_json``,
  ``UnsupportedValueError``.
- ``warmup``: runs code before the first call, so that the call is fast.
- ``worker``: the process that becomes the call: its streams, priority, program or function. Engines set the user.

May import: only modules of ``guest``. Other packages import ``bundle``, ``frames``, ``context`` and a few more.
"""
