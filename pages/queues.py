from planner.ui import errors, sections, session

snapshot = session.cluster()
if not snapshot.cluster_queues:
    errors.nothing("No queues", "no ClusterQueue of Kueue is in this snapshot")
sections.of_queues(snapshot)
