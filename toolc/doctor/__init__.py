"""``toolc doctor``: what this host's sandbox engines can do, known vulnerabilities, and escape probes."""
