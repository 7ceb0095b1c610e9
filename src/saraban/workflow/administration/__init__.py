"""Administration of workflows."""
