"""The first schema, group by group: integers are the only identifiers, before public ids came (REQ-IDN-06)."""

from saraban_history.first import documents, drawings, logs, numbering, people, projects, workflow

GROUPS = (people, projects, workflow, drawings, documents, numbering, logs)
