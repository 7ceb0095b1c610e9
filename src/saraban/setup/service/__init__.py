"""What the doors use of `setup`."""

from saraban.setup.service.applying import AppliedFile, ProjectConflict, apply

__all__ = ["AppliedFile", "ProjectConflict", "apply"]
