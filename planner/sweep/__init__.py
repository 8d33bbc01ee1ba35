"""Every workload of many snapshots, worked out over any `concurrent.futures.Executor`, into a store."""
