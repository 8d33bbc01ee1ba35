"""Kueue's admission: which workloads get quota, which are pending, which are evicted for others.

Source of every rule here: kubernetes-sigs/kueue at ff69552e79ad (0.20 in development, August 2026), packages
`pkg/cache/scheduler` and `pkg/scheduler`. Its own test tables say whether these do the same (`tests/scheduling/kueue`).
`cohort_tree` holds quotas and use, `flavor_assignment` finds a workload's flavors, `preemption` the workloads that it would
evict, `fair_sharing_preemption` the same where queues share by weight, `admission_cycle` plays the scheduler's cycles,
`topology` finds places near to each other. Not here, and *not known* where it matters: whom Kueue evicts for places, slices and
groups in a topology, what admission checks say, workloads that are slices of others, MultiKueue, and fair sharing within a
ClusterQueue by use in the past.
"""
