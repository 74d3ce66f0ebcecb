"""Container images as files: archives, layers, metadata and a base image made on this host.

- ``archive``: reads archives of ``docker save`` and OCI layouts: compression, platform, limits. Start reading here.
- ``debian``: makes a base image with mmdebstrap.
- ``metadata``: names, volumes and base images; images in the store and which are stale; addresses in Dockerfiles.
  Public: ``approval_name``, ``remove_image``, ``stored_images``.
- ``unpack``: unpacks one layer: links, whiteouts, modes, limits.

May import: ``sandbox.host`` and ``model``.
"""
