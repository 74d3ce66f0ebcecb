"""Container images without a daemon: read archives, unpack layers, and name images by content."""
