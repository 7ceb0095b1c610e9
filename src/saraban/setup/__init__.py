"""Projects from files: what a project is made of in one YAML text, compared with what is there, applied and exported."""
