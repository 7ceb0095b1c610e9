"""Set-up over HTTP: new projects, project files, master data and members."""

from fastapi import APIRouter

from saraban.setup.endpoints import new_project, project_files

router = APIRouter()
router.include_router(project_files.router)
router.include_router(new_project.router)

__all__ = ["router"]
