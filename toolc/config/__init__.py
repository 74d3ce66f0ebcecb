"""The user's configuration and the sources of secrets. No spec or repository can change it.

- ``configuration``: ``Configuration``, the settings and their defaults. Public: ``AuditSettings``,
  ``ClientSettings``, ``Issuer``, ``Role``, ``ROLES``, ``Scope``.
- ``files``: reads the configuration file and the file of ``--secrets``. Public: ``load_secrets``.
- ``issuers``: reads the issuers of JWTs. Public: ``with_issuers``.
- ``secret_sources``: the sources of secret values (files, commands, environment), and the limits of their length.
  Public: ``SecretSource``, ``SecretStore``.
- ``user_config``: finds the configuration file and checks its permissions. Start reading here. Public:
  ``configuration_folder``, ``configuration_source``, ``load_configuration``, ``read_private``.

May import: ``document`` and ``model``.
"""
