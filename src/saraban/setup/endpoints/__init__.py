"""Set-up over HTTP: new projects, project files, master data and members."""

from fastapi import APIRouter

from saraban.setup.endpoints import master_data, members, project_files

router = APIRouter()
for room in (project_files, members, master_data):
    router.include_router(room.router)
