"""The only Streamlit code outside `pages/` and `app.py`: what pages are made of.

A page reads like this::

    snapshot = session.cluster()                     # what the user looks at; the embedded demo at first
    inputs = memory_inputs.show(snapshot)            # widgets made by `link`, so that every input is in the URL
    answer = cache.answer(plan_memory.nodes, snapshot, inputs)   # kept by (question, digest, inputs)
    verdict.show(answer)                             # words first
    charts.show(memory_bars.figure(answer), key="bars", alt=memory_bars.alt(answer))
    tables.show(rows, alt="…")
    downloads.show("memory", csv=rows, document=…)

`session` holds the cluster, `link` binds widgets to the URL and says what it refuses, `cache` keeps answers, `errors`
turns a `HeadroomError` into a sentence on the page, `charts`/`tables`/`downloads` show and hand out.
"""
