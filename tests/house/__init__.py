"""What the house asks of each of its files: ``python -m tests.house``, a part of ``make check``.

A check looks at one file (or table, or line of a page) after another and says where something stands that may not: ``path:line what``.
That it would see such a thing is asked in ``tests/architecture``.
"""
