"""The only Streamlit code outside `pages/` and `app.py`: what pages are made of.

A page reads like this (pages/memory.py)::

    snapshot = session.cluster()
    kubelet, stats = memory_inputs.kubelet(snapshot)
    settings = plan_memory.MemorySettings(kubelet=kubelet)
    whole = cache.ask(plan_memory.QUESTION, snapshot, settings, Inputs(stats=stats))
    plan = plan_memory.narrowed(whole, page_filter.kept(snapshot))
    risks, nodes, first, change = link.tabs([RISKS, NODES, FIRST, CHANGE], key="part", holds=ON_LINK)
    downloads.answer(plan_memory.QUESTION, snapshot, settings, plan, rows="containers")

`session` holds the cluster the user looks at, the embedded demo at first. `…_inputs` are widgets made by `settings_form`
(those of a question's settings) and `link`, so that every input is in the URL; `page_filter` is the link's filter; `…_view`
are a page's words and tables. `cache` keeps answers, `errors` turns a `HeadroomError` into a sentence on the page, `charts`,
`tables` and `downloads` show and hand out.
"""
