"""What a store of history holds, and how it is settled who has written what: names, schema, rows, manifest.

`planner.sources.store` reads and writes it; nothing here touches a disk.
"""
