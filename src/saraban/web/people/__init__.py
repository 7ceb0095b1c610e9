"""Pages of accounts, tasks, notifications, delegations, teams, calendars and webhooks."""
