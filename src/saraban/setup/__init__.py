"""Project set-up: project files, new projects, master data and members."""
