"""The controllers that create and delete pods, each like its Kubernetes namesake."""
