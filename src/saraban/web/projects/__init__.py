"""Projects as a whole: the first run, new ones, and the project file."""
