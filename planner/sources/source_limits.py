"""Limits of reads from outside, and of request rates."""

from __future__ import annotations

from typing import Final

from planner.ground.records import Record


class SourceLimits(Record):
    """How many, at most."""

    # bills
    bill_rows: int = 2_000_000  # more are refused
    # cloud prices
    price_pages: int = 2_000  # a region of Azure's has some 10,000 meters
    price_bytes: int = 4 * 2**30  # us-east-1 of AWS has 0.4
    price_page_bytes: int = 32 * 2**20
    price_line_bytes: int = 2**20
    # connection
    requests_per_minute: int = 600  # of this process to one API server, whatever happens: the lists of 300,000 objects
    connections: int = 96  # kept open: a watch for each kind, and a few lists
    # journal
    journal_bytes: int = 4 * 2**20  # of a day: some 3,000 predictions with what came of them
    # kubernetes api
    pages: int = 20_000  # of one reading: ten million objects at the usual size
    empty_pages: int = 20  # of one list, one after the other: a server may skip what is gone, not forever
    page_bytes: int = 256 * 2**20  # 500 objects of 512 KiB each; etcd takes 1.5 MiB of one
    # live
    refusals: int = 3  # of a watch, one after the other, before its kind is listed anew
    # manifests
    located_characters: int = 8 * 2**20  # of a file with counted lines; beyond, objects have no line
    manifest_bytes: int = 2**20  # of a file named as CLUSTER that is looked at for whether it is a manifest
    # prometheus
    points: int = 720  # of a series


LIMITS: Final = SourceLimits()
