"""The only Streamlit code outside `pages/` and `app.py`: what pages are made of.

A page reads like this (pages/memory.py)::

    snapshot = session.cluster()
    kubelet = memory_inputs.kubelet(snapshot)
    whole = cache.ask(plan_memory.QUESTION, snapshot, settings, Given(stats=kubelet.stats))
    plan = plan_memory.narrowed(whole, filtered.kept(snapshot))
    charts.show(memory_nodes.figure(plan.cluster), key="nodes", alt=memory_nodes.alt(plan.cluster))
    memory_view.nodes(plan.cluster)
    memory_view.download(snapshot, kubelet.settings, plan)

`session` holds the cluster the user looks at, the embedded demo at first. `…_inputs` are widgets made by `asked`
(those of a question's settings) and `link`, so that every input is in the URL; `filtered` is the link's filter; `…_view`
are a page's words and tables. `cache` keeps answers, `errors` turns a `HeadroomError` into a sentence on the page, `charts`,
`tables` and `downloads` show and hand out.
"""
