"""Pages for operators: audit trail, events, system and number audit."""
