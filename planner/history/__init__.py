"""What many snapshots say that one doesn't, and what a store of them holds: names, schema, rows, manifest; trends; the
commitments that past use would have paid for.

`planner.sources.store` reads and writes a store; nothing here touches a disk.
"""
