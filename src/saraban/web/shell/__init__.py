"""What every page stands on: the frame around it, forms, labels, the session and the static files."""
