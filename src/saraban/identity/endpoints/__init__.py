"""What the API offers about people: their sessions, and the register of organizations."""

from fastapi import APIRouter

from saraban.identity.endpoints import sessions

router = APIRouter()
router.include_router(sessions.router)
