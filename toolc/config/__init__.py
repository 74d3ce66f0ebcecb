"""The user's configuration and the sources of secrets. No spec or repository can change it.

- ``secret_sources``: the sources of secret values (configuration, the file of ``--secrets``, commands, environment),
  and the limits of their length. Public: ``load_secrets``, ``SecretStore``.
- ``user_config``: the configuration file, with its folder, keys, and permissions. Start reading here. Public:
  ``Configuration``, ``load_configuration``.

May import: ``document`` and ``model``.
"""
