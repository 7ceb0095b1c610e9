from fastapi import APIRouter

from saraban.setup.endpoints import master_data, members, project_files

router = APIRouter()
for module in (project_files, members, master_data):
    router.include_router(module.router)
