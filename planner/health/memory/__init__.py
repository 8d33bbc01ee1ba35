"""Memory: throttling, evictions, OOM kills, QoS and cgroup values."""
