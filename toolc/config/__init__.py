"""The user's configuration and the sources of secrets. No spec or repository can change it.

Start reading in ``user_config``; ``secret_sources`` reads the values of secrets from the configuration, a file or
the environment.

May import: ``toolc.document`` and ``toolc.model``.

Public names: ``load_secrets``, ``SecretStore`` (``secret_sources``); ``Configuration``, ``load_configuration``
(``user_config``).
"""
