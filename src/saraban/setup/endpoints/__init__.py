"""Set-up over HTTP: project files, master data and members."""

from saraban.setup.endpoints.project_files import router

__all__ = ["router"]
