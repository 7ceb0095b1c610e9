"""
Files in two phases: an upload is temporary and its uploader's alone, until a document or a step claims it.

Being claimed changes the row in the claimer's transaction and moves no bytes, so a file can neither be lost nor
shown too early between a move and a commit. What nobody claims is removed after a day.
"""

from saraban.attachments.domain.row import AttachmentRow
from saraban.attachments.service.claims import (
    InvalidAttachments,
    attach_to_step,
    claim,
    step_attachments,
)
from saraban.attachments.service.reading import AccessRule, AccessRules, FileUnavailable, find
from saraban.attachments.service.repeating import once_for_file, upload_once
from saraban.attachments.service.uploads import (
    FileTooLarge,
    FileTypeRefused,
    Intake,
    UploadRules,
    clean_up,
    fit_name,
    upload,
)

__all__ = [
    "AccessRule",
    "AccessRules",
    "AttachmentRow",
    "FileTooLarge",
    "FileTypeRefused",
    "FileUnavailable",
    "Intake",
    "InvalidAttachments",
    "UploadRules",
    "attach_to_step",
    "claim",
    "clean_up",
    "find",
    "fit_name",
    "once_for_file",
    "step_attachments",
    "upload",
    "upload_once",
]
