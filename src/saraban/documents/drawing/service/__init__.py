"""Drawings: three registers with their revisions, what they derive from, and what was current when."""

from saraban.documents.drawing.service.register_settings import read_settings, save_settings
from saraban.documents.drawing.service.registers import (
    list_drawings,
    list_revisions,
    read,
    reads_file,
)
from saraban.documents.drawing.service.registration import (
    DrawingChanged,
    DrawingNumberTaken,
    DrawingTakesNoAddenda,
    change,
    register,
    revise,
)

__all__ = [
    "DrawingChanged",
    "DrawingNumberTaken",
    "DrawingTakesNoAddenda",
    "change",
    "list_drawings",
    "list_revisions",
    "read",
    "read_settings",
    "reads_file",
    "register",
    "revise",
    "save_settings",
]
