from planner.ui import now_view, page_filter, session_cluster

snapshot = session_cluster.cluster()
kept = page_filter.kept(snapshot)
overview = now_view.overview(snapshot, kept)
now_view.rollouts(*now_view.lines("Rollouts"), overview, kept)
now_view.table(snapshot, overview)
