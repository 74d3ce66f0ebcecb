"""Container images as files: archives, layers, metadata and a base image made on this host.

Start reading in ``archive``, then ``unpack``. ``metadata`` has the names of unpacked images, ``debian`` makes a
base image with mmdebstrap.

May import: ``toolc.sandbox.host`` and ``toolc.model``.

Public names: ``approval_name``, ``remove_image``, ``stored_images`` (``metadata``).
"""
