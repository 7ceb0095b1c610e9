"""The demo: documents with a past, and the story of a few new ones; all through the services people use."""

from saraban.documents.demo.service.loading import load
from saraban.documents.demo.service.stage import DemoMissing, Setting, Stage, setting

__all__ = ["DemoMissing", "Setting", "Stage", "load", "setting"]
