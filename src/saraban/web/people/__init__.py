"""Pages about people's work: tasks, notifications, delegations, passwords, review teams, calendar and webhooks."""
