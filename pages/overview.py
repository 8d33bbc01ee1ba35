from planner.ui import findings, now_view, page_filter, session_cluster, unblock_all_dialog

snapshot = session_cluster.cluster()
now_view.what_this_is()
kept = page_filter.kept(snapshot)
rollouts, pending, loss, money = now_view.lines("Rollouts", "Waiting", "One loss", "Money")
overview = now_view.overview(snapshot, kept)
now_view.rollouts(rollouts, overview, kept)
now_view.pending(pending, overview)
now_view.money(money, snapshot)
now_view.workloads(snapshot, overview)
now_view.foot(snapshot, overview, findings.of(snapshot).sentence)
# last, since these take longest, the longest at the end
unblock_all_dialog.at_the_peak(rollouts.step, snapshot)
now_view.next_pending(pending, snapshot, overview)
now_view.next_money(money, snapshot)
now_view.loss(loss, snapshot)
now_view.next_rollout(rollouts, snapshot)
