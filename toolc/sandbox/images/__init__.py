"""Container images as files: archives, layers, metadata and base images.

- ``archive``: reads and writes archives of ``docker save``, and reads OCI layouts: compression, platform, limits. Start
  reading here.
- ``debian``: creates a base image with mmdebstrap.
- ``metadata``: names, volumes and base images; addresses in Dockerfiles. Public: ``approval_name``.
- ``stored``: the base image for tools without an image, and the unpacked images in the store. Public:
  ``base_tag``, ``remove_image``, ``stored_images``.
- ``tree``: the digest of an image's files, which identifies a base image.
- ``unpack``: unpacks one layer: links, whiteouts, modes, limits.
- ``unpacked``: unpacks an image into the store, as the root of sandboxes.

May import: ``sandbox``, ``sandbox.host`` and ``model``.
"""
