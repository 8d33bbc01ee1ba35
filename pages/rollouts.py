from planner.questions.overview import QUESTION, OverviewSettings, narrowed
from planner.ui import now_view, page_filter, pool_limit_inputs, session_cluster, shared_answers

snapshot = session_cluster.cluster()
kept = page_filter.kept(snapshot)
overview = narrowed(
    snapshot, shared_answers.ask(QUESTION, snapshot, OverviewSettings(), pool_limit_inputs.given(snapshot)), kept
)
now_view.story(snapshot, overview, kept)
now_view.table(snapshot, overview)
