"""Pages for those who look after an installation: the audit trail, events, the system, what was done with numbers."""
