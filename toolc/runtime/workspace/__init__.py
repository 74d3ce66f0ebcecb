"""The workspace of a call: mounts, safe file access by descriptor, scratch folders and transactions."""
