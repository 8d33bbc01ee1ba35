from planner.questions.question import Inputs
from planner.questions.restarts import QUESTION, RestartsSettings, narrowed
from planner.ui import cache, page_filter, restarts_inputs, restarts_view, session, usage_inputs

cluster = session.cluster()
snapshot = restarts_inputs.with_uploaded_logs(cluster)
whole = cache.ask(QUESTION, snapshot, RestartsSettings(cures=0), Inputs(usages=usage_inputs.history(cluster)))
plan = narrowed(whole, page_filter.kept(cluster))
restarts_view.headline(plan.report)

if plan.report.loops:
    restarts_view.loops(plan)
    loop = restarts_inputs.loop(plan.report.loops)
    restarts_view.loop_details(loop, snapshot)

restarts_inputs.add_logs(cluster)
usage_inputs.ask(cluster)
restarts_view.download(snapshot, plan)
