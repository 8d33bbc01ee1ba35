"""``headroom serve``: a process beside a cluster that answers its API server's webhook, and Prometheus.

`snapshot_refresher` keeps a snapshot and lists anew, `webhook` answers AdmissionReviews from it, `metrics` shows it to
Prometheus, `http_server` is the HTTP in front of both, for the paths of `endpoint_paths`. Answers are computed by
`planner.questions` in processes of their own: `review_processes`, and `metrics_process` for metrics.
"""
