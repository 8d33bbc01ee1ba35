"""History over many snapshots: the store's schema, names and manifest, trends, and commitments that past use would have
paid for.

`planner.sources.store` reads and writes a store; nothing here touches a disk.
"""
