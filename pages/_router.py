"""Runs on every request: which pages there are, the sidebar they share, and how a known error is shown."""

from pathlib import Path

import streamlit as st

from planner.ui import errors, filtered, findings, inventory_view, link, live_view, session, sidebar, sign_in, web

# section → (file in this folder, title, icon, what it answers); the first page is the home page
PAGES = {
    "Plan": (
        ("overview.py", "Overview", "speed", "What could not be rolled out now, and why"),
        ("rollout.py", "Rollout", "rocket_launch", "Will this rollout finish? Why not? What to do?"),
        ("plan.py", "Readiness plan", "checklist", "The least that makes every workload rollable"),
    ),
    "Capacity": (
        ("headroom.py", "Headroom", "event_seat", "Who holds which GPU, what is free, what would fit"),
        ("what_if.py", "What if", "alt_route", "What nodes added, drained, lost, upgraded or tainted would do"),
        ("memory.py", "Memory", "memory", "Who is throttled, evicted and killed first, and what would change"),
        ("restarts.py", "Restarts", "restart_alt", "What restarts, why, what is noise, what would help"),
        ("drift.py", "Drift", "compare", "The same service in several environments, side by side"),
        ("compare.py", "Compare", "difference", "What differs between two snapshots, or after changes"),
        ("inventory.py", "Inventory", "inventory_2", "What was read, what is wrong with it, another cluster"),
    ),
    "Over time": (
        ("history.py", "History", "timeline", "When GPUs are full, since when it is stuck, what to commit to"),
        ("clusters.py", "Clusters", "hub", "Several clusters side by side, and where something would fit"),
    ),
    "Cost": (
        ("costs.py", "Costs", "payments", "What the cluster costs, whom, and what of it is idle"),
        ("fleet_savings.py", "Fleet savings", "account_tree", "What spot would save in the whole cluster, in order"),
        ("spot_savings.py", "Spot savings", "savings", "Is it fit for spot? What would it really save?"),
    ),
}

st.set_page_config(page_title="Headroom", page_icon=web.picture(Path(__file__).with_name("icon.png")), layout="wide")
page = st.navigation(
    {
        section: [
            st.Page(file, title=title, icon=f":material/{icon}:", help=help_text, default=file == "overview.py")
            for file, title, icon, help_text in pages
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
