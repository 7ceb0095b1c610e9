"""What a definition must show before it is published. Pure."""
