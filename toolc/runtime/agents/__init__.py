"""Sub-agents (``backend.agent``): a model that calls tools until it has an answer.

- ``agent``: the conversation: task, calls that the model makes, final answer. Start reading here.
- ``model``: ``ModelApi``, the interface of an API, with its responses and errors.
- ``anthropic_api``, ``openai_api``: the Anthropic Messages API, and OpenAI's Chat Completions and Responses APIs.
- ``broker_transport``: a transport for httpx that sends requests through ``toolc.runtime.egress`` and adds the key.
- ``turns``: asks the model, within the limits of turns and tokens, with retries; the key, and events.

May import: ``runtime.sandboxed`` and the packages below it in ``runtime``; ``providers``, ``backends``, ``guest`` and
``model``. It must not import ``composite``.
"""
