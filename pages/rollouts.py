from planner.questions.overview import QUESTION, OverviewSettings, narrowed
from planner.ui import cache, capacity_inputs, now_view, page_filter, session

snapshot = session.cluster()
kept = page_filter.kept(snapshot)
overview = narrowed(snapshot, cache.ask(QUESTION, snapshot, OverviewSettings(), capacity_inputs.given(snapshot)), kept)
now_view.story(snapshot, overview, kept)
now_view.table(snapshot, overview)
