"""The first schema, group by group: integers are the only identifiers, as before ADR-019."""
