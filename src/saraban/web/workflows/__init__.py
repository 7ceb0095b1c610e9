"""Pages for administrators of workflows: definitions, assignment, simulation, the editor and migration."""
