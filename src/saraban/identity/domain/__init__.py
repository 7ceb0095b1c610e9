"""Rules of who may do what; pure."""
