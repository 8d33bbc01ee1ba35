"""Where a pod can go: kube-scheduler's rules on arrays."""
