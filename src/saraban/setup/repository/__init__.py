"""What is read and written of master data, and of a project as a file says it."""
