"""
The JSON Schema of a workflow's context: checked when a definition is published, asked at every transition (REQ-WFL-06).

The keywords are those of draft 2020-12 that say something about a value; what reaches outside the schema, refers to
itself or names a vocabulary is refused. Patterns run on Rust's regular expressions, which take linear time whatever
they are given, and are refused when they need more than that (look-around, back references) or grow too large.
"""

from saraban.workflow.language.schema.context import ContextSchema, SchemaRefused, read
from saraban.workflow.language.schema.fields import Field, payload_fields, payload_nulls

__all__ = ["ContextSchema", "Field", "SchemaRefused", "payload_fields", "payload_nulls", "read"]
