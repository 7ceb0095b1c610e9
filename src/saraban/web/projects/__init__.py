"""Pages of projects: first run, new projects, and the project file."""
