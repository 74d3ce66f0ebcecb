"""The Docker engine, in which each sandbox is a container of Docker or Podman. It also builds toolc's images.

Start reading in ``engine``, then ``docker_sandbox``.

- ``api_client``: HTTP over the daemon's socket: finding the socket, contexts, errors of the API. Public: ``ApiError``,
  ``find_socket``, ``NoDaemonError``.
- ``base_image``: obtains the base image for tools without an image, for both engines. Public: ``build_base``.
- ``container``: creates, starts and removes containers, and follows their events.
- ``container_config``: the body of ``POST /containers/create``: mounts, user, runtime, limits, seccomp; demands that
  the daemon cannot meet.
- ``daemon``: ``Daemon``: API version, runtimes, Podman, abilities of a daemon; labels. Public: ``connect``.
- ``docker_sandbox``: one live container: its stream, its end, OOM kills.
- ``enforced_limits``: which limits a daemon enforces; runtimes that do not work.
- ``engine``: ``DockerEngine``: starts a sandbox and names its container; errors at the start.
- ``image_builder``: toolc's own images and ``sandbox.build``: recipes, tags, build errors. Public: ``build_image``,
  ``list_images``, ``recipe``.
- ``images``: the image of a profile on the daemon, with its Python and packages; missing images.
- ``sdk``: calls of the docker SDK: build, pull, save, load and list images.
- ``streams``: the stream to a guest: a socket in the container, or the attached stream.
- ``sweep``: removes containers and volumes of dead processes. Also runs as a program.
- ``ways``: the ways to start a container, and which of them are skipped.

May import: ``sandbox``, ``host``, ``images`` and ``python``; ``guest``, ``data`` and ``model``. It must not
import ``oci``.
"""
