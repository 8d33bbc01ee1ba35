"""One slide for a manager: savings step by step, as a self-contained page of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from planner.ground.words import printable, usd
from planner.spot.packing_spot_commitment_steps import MoneyStep

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE: Final = (
    "body{font:20px/1.45 system-ui,sans-serif;color:#10161D;max-width:60rem;margin:3rem auto;padding:0 2rem}h1{font-size:38px;margin:0 0 .4rem}"
    "td,th{padding:.5rem .8rem .5rem 0;border-bottom:1px solid #BBB;text-align:left;vertical-align:top}td:nth-child(2){text-align:right;white-space:nowrap}"
    "table{border-collapse:collapse;width:100%;margin:1.5rem 0}small{color:#4A5560}li{margin:.4rem 0}"
)


def html(source: str, bill_usd: float, steps: Sequence[MoneyStep], workloads: Sequence[tuple[str, str]]) -> str:
    """`workloads`: name and what spot comes to there, in a sentence; `source`: the cluster and when it was taken."""
    saved = sum(step.saved_usd for step in steps)
    rows = "".join(
        f"<tr><td>{_text(step.name)}</td><td>−{_text(usd(step.saved_usd))}{f'<br><small>({_text(step.band)})</small>' if step.band else ''}</td><td>{_text(step.risk)}</td><td>{_text(step.work)}</td></tr>"
        for step in steps
        if step.saved_usd
    )
    each = "".join(f"<li><b>{_text(name)}</b>: {_text(said)}.</li>" for name, said in workloads)
    share = saved / bill_usd if bill_usd else 0.0
    return (
        f"<!doctype html>\n<html lang='en'><head><meta charset='utf-8'><meta http-equiv='Content-Security-Policy' content=\"{_POLICY}\">"
        f"<title>{_text(source)}</title><style>{_STYLE}</style></head><body><h1>About {_text(usd(saved))} a month less ({share:.0%})</h1>"
        f"<p>of {_text(usd(bill_usd))} a month today.</p><table><tr><th>Step</th><th>USD a month</th><th>Risk</th><th>Work</th></tr>{rows}</table>"
        f"<ul>{each}</ul><small>{_text(source)}. Expected; in brackets nine of ten months.</small></body></html>\n"
    )


def _text(said: object) -> str:
    return escape(printable(str(said), one_line=True))
