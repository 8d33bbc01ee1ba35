"""What the words mean: the pages' glossary and docs/glossary.md are made from the file beside this, and from nothing else. It explains
every word of a verdict and of a reason (`planner.rollout.wording`)."""

from __future__ import annotations

import json
from typing import Final

from planner.ground.records import Record
from planner.kubernetes.beside import table_beside


class Term(Record):
    """A word, and what it means in a sentence or two, for somebody who doesn't run Kubernetes."""

    word: str
    meaning: str


TERMS: Final = tuple(Term(word=word, meaning=said) for word, said in json.loads(table_beside(__name__, "json")).items())
"""Every term, by the alphabet."""


def as_markdown() -> str:
    """The terms as a list in Markdown."""
    return "\n".join(f"- **{term.word}**: {term.meaning}" for term in TERMS)
