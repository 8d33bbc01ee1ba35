"""The only room that touches the outside: files, the Kubernetes API, price lists, Prometheus."""
