"""The Docker engine, also for Podman: each sandbox is a container. Builds toolc's images too.

Start reading in ``engine``, then ``sandbox`` (one container). ``daemon`` and ``api_client`` connect to the API,
``container_config`` writes the configuration of a container, ``limits`` lists what the daemon enforces,
``container`` follows its events, ``images``, ``image_builder`` and ``build`` handle images, ``streams`` is the
extra socket of calls with a network, and ``sweep`` removes containers of dead processes.

May import: ``toolc.sandbox``, ``host``, ``images`` and ``python``; ``toolc.guest``, ``toolc.data`` and
``toolc.model``. It must not import ``oci``.

Public names: ``ApiError``, ``find_socket``, ``NoDaemonError`` (``api_client``); ``connect``, ``Daemon`` (``daemon``);
``build_image``, ``list_images``, ``recipe`` (``image_builder``).
"""
