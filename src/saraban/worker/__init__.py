"""Door 3: delivers events and runs timers, inside the server or apart from it."""
