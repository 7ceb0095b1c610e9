"""What the API takes and answers about master data and project files."""
