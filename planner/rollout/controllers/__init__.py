"""The controllers that make and delete pods, each as its Kubernetes namesake does it."""
