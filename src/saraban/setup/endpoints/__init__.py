"""Set-up over HTTP: new projects, project files, master data and members."""

from fastapi import APIRouter

from saraban.setup.endpoints import master_data, members, new_project, project_files

router = APIRouter()
for room in (project_files, new_project, members, master_data):
    router.include_router(room.router)
