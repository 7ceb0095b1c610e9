"""Pages for workflow administrators."""
