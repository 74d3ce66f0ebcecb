"""The code that runs inside a sandbox: a supervisor and its worker, sent as source code at start.

The code uses only the standard library and supports Python 3.9 and later. Start reading in ``supervisor``. ``forks``
starts a process for each call, ``http`` runs HTTP tools in the worker, ``network`` is the network of the sandbox, and
``programs`` serves ``toolc.Sandbox`` and the sessions of shell tools. The host's side of ``frames`` is
``toolc.runtime.wire``.

- ``answer``: the JSON for the return value or exception of a Python function, with its traceback and kind of error.
  Public: ``failure``, ``GeneratorOutput``, ``success``, ``MAX_TRACEBACK``.
- ``bundle``: the modules that are sent to a sandbox (``MODULES``), and the code that receives them. Runs on the host.
  Public: ``BOOTSTRAP_ARGUMENTS``, ``CANNOT_CONNECT``, ``MARSHAL_VERSION``, ``prepare_bundle``.
- ``connections``: the last host that a function connected to, for errors in a sandbox without a network.
- ``context``: ``Context`` for functions (progress, log, files), and content blocks: ``Result``, ``Resource``,
  ``ToolError``. Public: ``audio_type``, ``content_of``, ``dump``, ``image_type``, ``to_data``,
  ``Updates``.
- ``flow_control``: how much may be sent on a connection (``FlowWindow``), and how often progress is reported. Public:
  ``max_reports``, ``RateLimiter``, ``window``.
- ``frames``: the protocol between host and guest. Public: a constant for each kind of frame (``CALL``), stream
  (``STDIN``) and limit (``MAX_DATA``); ``encode``, ``Frame``, ``FrameReader``, ``FrameError``, ``ProtocolError``.
- ``job``: ``Job`` and ``HttpJob``, the CALL frame: writes files and secrets, sets resource limits.
- ``json_text``: writes control messages as JSON without importing the module ``json``, which only reads them. Public:
  ``decode_json``, ``encode_json``.
- ``launch_args``: the arguments of process 1: ``pids``, ``memory``, separate kernel, identity of the workspace. Public:
  ``boot_id``, ``FORK_ARGUMENT``, ``LOWER``, ``NETWORK_ARGUMENT``, ``preload_argument``.
- ``loader``: the second stage of the start, which makes the sent modules importable.
- ``preload``: imports the modules listed under ``preload`` before the call.
- ``processes``: starts, kills and reaps processes; memory and CPU usage, OOM kills.
- ``python_function``: runs a ``backend.python`` tool: imports its file, calls the function, awaits coroutines.
- ``session``: several calls of a function in one worker (``lifetime: session``). Public: ``CallLine``.
- ``streams``: the supervisor's ends of stdin, stdout and stderr: bounded buffers, lines of progress.
- ``supervisor``: process 1: starts the worker, forwards output, kills the call at its deadline.
- ``truncate``: cuts texts at the end or in the middle, and marks the place.
- ``values``: the JSON for dates, decimals, sets and other values in the result of a function. Public: ``to_json``,
  ``UnsupportedValueError``.
- ``warmup``: runs code before the first call, so that the call is fast.
- ``worker``: the process that runs the call: its streams, priority, program or function. Engines set the user.

May import: only modules of ``guest``. Other packages import a few modules, such as ``bundle`` and ``frames``.
"""
