"""Where a pod can be placed: kube-scheduler's rules on arrays."""
