"""The dashboard's Streamlit code outside `pages/` and `app.py`.

A page reads like this (pages/health.py)::

    cluster = session_cluster.cluster()
    kubelet, stats = health_inputs.kubelet(cluster)
    settings = MemorySettings(kubelet=kubelet)
    rule = health_inputs.drift_settings((cluster, *health_inputs.other_clusters()))
    health_inputs.add_logs(cluster)
    health_inputs.ask_usage(cluster)

`session_cluster` holds the cluster the user looks at, the embedded demo at first. `…_inputs` are widgets made by `settings_form`
(those of a question's settings) and `link`, so that every input is in the URL; `page_filter` is the link's filter; `…_view`
are a page's words and tables. `shared_answers` keeps answers, `errors` turns a `HeadroomError` into a sentence on the page,
`tables` and `downloads` show and hand out.
"""
