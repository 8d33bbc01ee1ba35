"""Runs on every request: which pages there are, the sidebar they share, and how a known error is shown."""

from pathlib import Path

import streamlit as st

from planner.questions import INDEX
from planner.ui import errors, filtered, findings, inventory_view, link, live_view, session, sidebar, sign_in, web

# section → (file in this folder, title, icon, the questions it answers, the first of which says what it is for)
PAGES = {
    "Plan": (
        ("overview.py", "Overview", "speed", ("overview",)),
        ("rollout.py", "Rollout", "rocket_launch", ("rollout", "strategies", "strategy_costs", "certificate")),
        ("plan.py", "Readiness plan", "checklist", ("plan", "peak")),
    ),
    "Capacity": (
        ("headroom.py", "Headroom", "event_seat", ("capacity", "seats")),
        ("what_if.py", "What if", "alt_route", ("what_if",)),
        ("memory.py", "Memory", "memory", ("memory", "memory_what_if")),
        ("restarts.py", "Restarts", "restart_alt", ("restarts",)),
        ("drift.py", "Drift", "compare", ("drift",)),
        ("compare.py", "Compare", "difference", ("diff",)),
        ("inventory.py", "Inventory", "inventory_2", ("findings",)),
    ),
    "Over time": (
        ("history.py", "History", "timeline", ("trends", "commitments")),
        ("clusters.py", "Clusters", "hub", ("fleet", "where")),
    ),
    "Cost": (
        ("costs.py", "Costs", "payments", ("costs", "idle")),
        ("fleet_savings.py", "Fleet savings", "account_tree", ("savings",)),
        ("spot_savings.py", "Spot savings", "savings", ("savings",)),
    ),
}

st.set_page_config(page_title="Headroom", page_icon=web.picture(Path(__file__).with_name("icon.png")), layout="wide")
page = st.navigation(
    {
        section: [
            st.Page(file, title=title, icon=f":material/{icon}:", help=INDEX[first].line, default=file == "overview.py")
            for file, title, icon, (first, *_) in pages
        ]
        for section, pages in PAGES.items()
    },
    expanded=True,
    position="sidebar" if sign_in.is_let_in() else "hidden",
)
sign_in.ask()
link.arrive(page.url_path)
with errors.shown():
    sidebar.show()
    if session.wanted() is None:
        live_view.show(session.cluster())
        findings.not_seen(session.cluster())
        filtered.line(session.cluster(), page.url_path)
        page.run()
    else:
        inventory_view.missing()
    live_view.end()
