from planner.ui import errors, queues_and_losses_view, session_cluster

snapshot = session_cluster.cluster()
if not snapshot.cluster_queues:
    errors.nothing("No queues", "no ClusterQueue of Kueue is in this snapshot")
queues_and_losses_view.of_queues(snapshot)
