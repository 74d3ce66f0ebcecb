"""The code that runs inside a sandbox: a supervisor and its worker, sent as source code at start.

Standard library only, Python 3.9 and later. ``bundle`` runs on the host and collects the source to send. Start
reading in ``supervisor``, process 1 of a sandbox: it starts the worker, forwards the output, and kills the call at
its deadline. ``worker`` becomes the call; ``session``, ``python_function`` and ``toolc.guest.http`` run the kinds
of calls. ``frames`` is the protocol between host and guest; ``toolc.runtime.wire`` is its other side.

May import: only modules of ``toolc.guest``. Other packages import ``bundle``, ``frames``, ``context`` and a few more.

Public names: ``failure``, ``GeneratorOutput``, ``success``, ``MAX_TRACEBACK`` (``answer``); ``bundle``,
``BOOTSTRAP_ARGUMENTS``, ``CANNOT_CONNECT`` (``bundle``); ``audio_type``, ``content_of``, ``Context``, ``dump``,
``image_type``, ``Resource``, ``Result``, ``ToolError``, ``Updates`` (``context``); ``FlowWindow``, ``max_reports``,
``RateLimiter``, ``window`` (``flow_control``); ``Frame``, ``FrameReader``, ``FrameError``, ``ProtocolError``,
``encode``, the kinds of frames and their limits (``frames``); ``Job`` (``job``); ``boot_id``,
``LOWER``, ``NETWORK_ARGUMENT`` (``launch_args``); ``cpu_ms``, ``peak_memory_bytes``, ``Pipes``, ``write_all``
(``processes``); ``CallLine`` (``session``); ``truncate_end`` (``truncate``).
"""
