"""What is recorded about calls, for those who operate toolc.

- ``observation``: the interface between calls and everything that records them. Start reading here. Public:
  ``Observer``, ``StartedCall``, ``observed``, ``recording``.
- ``audit_record``: what a line of the audit log says about a call. Public: ``Fingerprint``.
- ``audit_chain``: lines that are chained by a MAC, the files that they are in, and calls without a line yet. Public:
  ``chain_folders``, ``read_key``.
- ``audit_log``: writes a line for each call. Public: ``AuditFiles``, ``AuditLog``.
- ``audit_verify``: finds changes of a log. Public: ``ChainReport``, ``Checkpoint``, ``checkpoint_of``, ``read_lines``,
  ``verify``.

May import: ``model``.
"""
