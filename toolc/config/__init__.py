"""The user's configuration and the sources of secrets. No spec or repository can change it.

- ``secret_sources``: where the values of secrets come from: configuration, the file of ``--secrets``, commands,
  environment; the shortest and longest value. Public: ``load_secrets``, ``SecretStore``.
- ``user_config``: the configuration file: its folder, its keys, permissions that are checked. Start reading here.
  Public: ``Configuration``, ``load_configuration``.

May import: ``document`` and ``model``.
"""
