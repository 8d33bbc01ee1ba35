"""``headroom serve``: a process beside a cluster that answers its API server's webhook, and Prometheus.

`keeper` keeps a snapshot and lists anew, `webhook` answers AdmissionReviews from it, `metrics` tells it to Prometheus,
`http_server` is the HTTP in front of both, `paths` are those it answers. What is answered is worked out in `planner.questions`, in
processes of their own: `review_processes`, and `teller` for metrics.
"""
