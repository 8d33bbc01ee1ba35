"""The only Streamlit code outside `pages/` and `app.py`: what pages are made of.

A page reads like this (pages/memory.py)::

    snapshot = session.cluster()
    kubelet = memory_inputs.kubelet(snapshot)
    plan = cache.answer(plan_memory.memory, snapshot, kubelet.settings, kubelet.stats)
    memory_view.headline(plan)
    charts.show(memory_nodes.figure(plan.cluster), key="nodes", alt=memory_nodes.alt(plan.cluster))
    memory_view.download(snapshot, plan)

`session` holds the cluster the user looks at, the embedded demo at first. `…_inputs` are widgets made by `link`, so that
every input is in the URL; `…_view` are a page's words and tables. `cache` keeps answers, `errors` turns a `HeadroomError`
into a sentence on the page, `charts`, `tables` and `downloads` show and hand out.
"""
