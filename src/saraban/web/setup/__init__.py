"""Pages of the set-up of a project and of the installation: lists that people edit in place, members, and what is missing."""
