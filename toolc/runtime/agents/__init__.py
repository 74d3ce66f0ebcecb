"""Sub-agents (``backend.agent``): a model that calls tools until it has an answer.

Start reading in ``agent``. ``turns`` asks the model and handles its errors, ``model`` is the interface of an API,
``dialects`` its implementations, and ``network`` opens the connections by the rules of ``toolc.runtime.egress``.

May import: ``toolc.runtime.sandboxed`` and the packages below it in ``toolc.runtime``; ``toolc.providers``,
``toolc.backends`` and ``toolc.model``. It must not import ``composite``.
"""
