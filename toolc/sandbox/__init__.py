"""The sandbox engines, docker and oci (runc), and the modules that they share."""
