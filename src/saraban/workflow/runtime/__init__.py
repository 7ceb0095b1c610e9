"""What happens to an instance: it is started, moved, reviewed, waited for, cancelled, and told of."""
