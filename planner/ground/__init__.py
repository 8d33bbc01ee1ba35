"""What every package stands on: words, amounts, settings, tables, errors, exit statuses, budgets. No Kubernetes."""
