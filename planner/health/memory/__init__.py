"""Who is throttled, evicted and killed: QoS, cgroup values, restarts, drift between environments."""
