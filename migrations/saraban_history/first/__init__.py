"""The first schema, group by group: integers are the only identifiers, before public ids came (REQ-IDN-06)."""
