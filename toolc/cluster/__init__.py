"""The executor of a Ray cluster: Ray distributes calls, and each node runs them in its own sandboxes.

::

    RayExecutor ──> placement ──> Nodes ──ray──> NodeActor ──> Executor ──> sandboxes of the node

- ``messages``: what the driver and the nodes send each other. Public: ``Denials``, ``Failed``, ``NodeEngine``,
  ``NodeReport``, ``NodeSetup``, ``RemoteCall``, ``versions``.
- ``node``: ``NodeActor``, the actor of a node, which holds an ordinary ``Executor``.
- ``node_sandbox``: an open sandbox on a node. Public: ``NodeSandbox``, ``NodeProgram``.
- ``nodes``: the nodes of a cluster as they join and leave. Public: ``Nodes``.
- ``placement``: which node runs a call. Public: ``Node``, ``choose``.
- ``workspace_copy``: a copy of a workspace on a node, and the changes that come back. Public: ``copied``, ``Change``,
  ``Files``, ``NodeCopies``, ``WorkspaceCopy``.
- ``ray_calls``: calls of a node's actor through Ray, and what Ray's exceptions mean. Public: ``asked``, ``awaited``,
  ``connect``, ``followed``, ``NodeDiedError``, ``output_of``, ``used``.
- ``ray_executor``: ``RayExecutor``, with the methods of ``Executor``, and checks of the shared workspace. Start reading
  here.

May import: ``client`` and the packages below it.
"""
