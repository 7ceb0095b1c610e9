"""The storages that ship."""

from saraban.attachments.adapters.folder import FolderStorage
from saraban.attachments.adapters.memory import MemoryStorage

__all__ = ["FolderStorage", "MemoryStorage"]
