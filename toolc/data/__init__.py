"""Package data: the pages of all rules (``rules``), escape probes (``probes``) and known advisories of engines."""
