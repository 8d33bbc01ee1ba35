"""Runs on every request: which rooms there are, the frame they share, and how a known error is shown."""

from pathlib import Path

import streamlit as st

from planner.questions import INDEX
from planner.ui import as_if, cluster_dialog, errors, link, live_view, page_frame, session_cluster, sidebar, sign_in

# room → its views (file in this folder, title, icon, the questions it answers, the first of which says what it is for)
PAGES = {
    "Now": (("overview.py", "Now", "speed", ("overview", "plan", "peak", "what_if", "findings")),),
    "Workloads": (
        ("rollouts.py", "Every workload", "rocket_launch", ("overview",)),
        ("rollout.py", "Workload", "rocket", ("rollout", "strategies", "strategy_costs")),
    ),
    "Capacity": (
        ("headroom.py", "What fits", "event_seat", ("capacity", "seats")),
        ("clusters.py", "Other clusters", "hub", ("fleet", "where")),
    ),
    "Health": (("health.py", "Health", "healing", ("restarts", "memory", "memory_what_if", "drift")),),
    "Money": (("costs.py", "Money", "payments", ("costs", "savings", "idle")),),
    "Over time": (("history.py", "Over time", "timeline", ("diff", "trends", "commitments")),),
    "Queues": (("queues.py", "Queues", "low_priority", ("queues",)),),
}

page_frame.begin(Path(__file__).parent)
pages = {
    file: st.Page(file, title=title, icon=f":material/{icon}:", help=INDEX[first].line, default=file == "overview.py")
    for views in PAGES.values()
    for file, title, icon, (first, *_) in views
}
page = st.navigation([*pages.values(), *link.moved()], position="hidden")
sign_in.ask()
link.forward(page.url_path)
link.arrive(page.url_path)
with errors.shown():
    page_frame.show(PAGES, page, pages, sidebar.show)
    if session_cluster.wanted() is None:
        as_if.bar(session_cluster.looked_at())
        page_frame.above(session_cluster.cluster(), page.url_path)
        page_frame.head(PAGES, page, pages)
        sidebar.dialog()
        page.run()
    else:
        cluster_dialog.missing()
    live_view.end()
