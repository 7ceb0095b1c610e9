"""
Files in two phases: an upload is temporary and its uploader's alone, until a document or a step claims it.

Being claimed changes the row in the claimer's transaction and moves no bytes, so a file can neither be lost nor
shown too early between a move and a commit. What nobody claims is removed after a day.
"""

from saraban.attachments.domain.attachment import AttachmentRow
from saraban.attachments.service.access import AccessRule, AccessRules, FileUnavailable, find
from saraban.attachments.service.claims import (
    InvalidAttachments,
    attach_to_step,
    claim,
    step_attachments,
)
from saraban.attachments.service.uploads import (
    CHECKSUM,
    FileTooLarge,
    FileTypeRefused,
    UploadRules,
    UploadStream,
    acceptable_file_name,
    clean_up,
    require_same_file,
    upload,
    upload_once,
)

__all__ = [
    "CHECKSUM",
    "AccessRule",
    "AccessRules",
    "AttachmentRow",
    "FileTooLarge",
    "FileTypeRefused",
    "FileUnavailable",
    "InvalidAttachments",
    "UploadRules",
    "UploadStream",
    "acceptable_file_name",
    "attach_to_step",
    "claim",
    "clean_up",
    "find",
    "require_same_file",
    "step_attachments",
    "upload",
    "upload_once",
]
