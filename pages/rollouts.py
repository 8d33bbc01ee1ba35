from planner.ui import now_view, page_filter, session_cluster

snapshot = session_cluster.cluster()
kept = page_filter.kept(snapshot)
overview = now_view.overview(snapshot, kept)
(line,) = now_view.lines("Rollouts")
now_view.rollouts(line, overview, kept)
now_view.table(snapshot, overview)
