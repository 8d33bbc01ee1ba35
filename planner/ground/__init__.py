"""What every room stands on: words and amounts, settings, tables, errors and exit statuses, a budget of work. No Kubernetes."""
