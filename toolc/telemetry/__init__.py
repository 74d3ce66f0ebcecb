"""Records about calls, for operators of toolc.

- ``observation``: the interface between calls and everything that records them. Start reading here. Public:
  ``EndedCall``, ``Observer``, ``StartedCall``, ``observed``, ``record_refusal``, ``recording``.
- ``attributes``: the names of spans and their attributes.
- ``audit_record``: the content of a line of the audit log. Public: ``Fingerprint``.
- ``audit_chain``: lines chained by a MAC, their files, and calls that have no line yet. Public: ``chain_files``,
  ``chain_folders``, ``read_key``.
- ``audit_log``: writes a line for each call. Public: ``AuditFiles``, ``AuditLog``.
- ``audit_verify``: finds changes of a log. Public: ``ChainReport``, ``checkpoint_of``,
  ``parse_checkpoint``, ``verify``.
- ``logs``: toolc's log as JSON. Public: ``log_as_json``, ``logs_as_json``.
- ``metrics``: the metrics, and the interface to a system that receives them. Public: ``Metrics``.
- ``prometheus_meter``: metrics for Prometheus, with the extra ``metrics``. Public: ``PrometheusMeter``.
- ``otlp_meter``: metrics for a collector of OpenTelemetry, with the extra ``otel``. Public: ``OtlpMeter``.
- ``spans``: spans of OpenTelemetry, with the extra ``otel``. Public: ``attach_parent``, ``export_spans``, ``observe``.

May import: ``model``.
"""
