from fastapi import APIRouter

from saraban.identity.endpoints import roles, sessions, users

router = APIRouter()
router.include_router(sessions.router)
router.include_router(users.router)
router.include_router(roles.router)
