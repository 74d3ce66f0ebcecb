"""What is recorded about calls, for those who operate toolc.

- ``observation``: the interface between calls and everything that records them. Start reading here. Public:
  ``EndedCall``, ``Observer``, ``StartedCall``, ``observed``, ``record_refusal``, ``recording``.
- ``attributes``: the names of spans and their attributes.
- ``audit_record``: what a line of the audit log says about a call. Public: ``Fingerprint``.
- ``audit_chain``: lines that are chained by a MAC, the files that they are in, and calls without a line yet. Public:
  ``chain_files``, ``chain_folders``, ``read_key``.
- ``audit_log``: writes a line for each call. Public: ``AuditFiles``, ``AuditLog``.
- ``audit_verify``: finds changes of a log. Public: ``ChainReport``, ``Checkpoint``, ``checkpoint_of``,
  ``verify``.
- ``logs``: the log as JSON. Public: ``log_as_json``, ``logs_as_json``.
- ``metrics``: what is counted, and the interface of a system that receives it. Public: ``Metrics``.
- ``prometheus_meter``: metrics for Prometheus, with the extra ``metrics``. Public: ``PrometheusMeter``.
- ``otlp_meter``: metrics for a collector of OpenTelemetry, with the extra ``otel``. Public: ``export_metrics``.
- ``spans``: spans of OpenTelemetry, with the extra ``otel``. Public: ``attach_parent``, ``export_spans``, ``observe``.

May import: ``model``.
"""
