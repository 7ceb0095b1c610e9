"""The language of workflow definitions, without I/O."""
