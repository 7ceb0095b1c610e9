"""The language of definitions: what one says, how it is read, conditions and schemas; what a workflow knows of what it moves. Pure."""
