from planner.questions.overview import QUESTION, OverviewSettings, narrowed
from planner.ui import cache, capacity_inputs, filtered, overview_view, session

snapshot = session.cluster()
kept = filtered.kept(snapshot)
overview = narrowed(snapshot, cache.ask(QUESTION, snapshot, OverviewSettings(), capacity_inputs.given(snapshot)), kept)
overview_view.story(snapshot, overview, kept)
overview_view.table(snapshot, overview)
