"""Runs on every request: which rooms there are, the frame they share, and how a known error is shown."""

from pathlib import Path

import streamlit as st

from planner.questions import INDEX
from planner.ui import as_if, errors, frame, inventory_view, link, live_view, session, sidebar, sign_in

# room → its views (file in this folder, title, icon, the questions it answers, the first of which says what it is for)
PAGES = {
    "Now": (("overview.py", "Now", "speed", ("overview",)),),
    "Workloads": (
        ("rollouts.py", "Every workload", "rocket_launch", ("overview",)),
        ("rollout.py", "Rollout", "rocket", ("rollout", "strategies", "strategy_costs", "certificate")),
        ("spot_savings.py", "On spot", "savings", ("savings",)),
        ("plan.py", "Unblock all", "checklist", ("plan", "peak")),
    ),
    "Capacity": (
        ("headroom.py", "What fits", "event_seat", ("capacity", "seats")),
        ("what_if.py", "With changes", "alt_route", ("what_if",)),
        ("clusters.py", "Other clusters", "hub", ("fleet", "where")),
    ),
    "Health": (
        ("restarts.py", "Restarts", "restart_alt", ("restarts",)),
        ("memory.py", "Memory", "memory", ("memory", "memory_what_if")),
        ("drift.py", "Drift", "compare", ("drift",)),
    ),
    "Money": (
        ("costs.py", "Bill", "payments", ("costs", "idle")),
        ("fleet_savings.py", "What spot saves", "account_tree", ("savings",)),
    ),
    "Over time": (
        ("history.py", "History", "timeline", ("trends", "commitments")),
        ("compare.py", "Compare", "difference", ("diff",)),
    ),
    "Queues": (("queues.py", "Queues", "low_priority", ("queues",)),),
    "": (("inventory.py", "What was read", "inventory_2", ("findings",)),),
}

frame.begin(Path(__file__).with_name("icon.png"))
pages = {
    file: st.Page(file, title=title, icon=f":material/{icon}:", help=INDEX[first].line, default=file == "overview.py")
    for views in PAGES.values()
    for file, title, icon, (first, *_) in views
}
page = st.navigation(list(pages.values()), position="hidden")
sign_in.ask()
link.arrive(page.url_path)
with errors.shown():
    frame.show(PAGES, page, pages, sidebar.show)
    if session.wanted() is None:
        as_if.bar(session.looked_at())
        frame.above(session.cluster(), page.url_path)
        frame.head(PAGES, page, pages)
        page.run()
    else:
        inventory_view.missing()
    live_view.end()
