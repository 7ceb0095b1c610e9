"""The demo: documents with a past, and the story of a few new ones; all through the services people use."""

from saraban.documents.demo.domain.story import STEPS
from saraban.documents.demo.service.loading import load
from saraban.documents.demo.service.stage import DemoMissing, Setting, Stage, setting
from saraban.documents.demo.service.story import Chapter, Scene, tell

__all__ = ["STEPS", "Chapter", "DemoMissing", "Scene", "Setting", "Stage", "load", "setting", "tell"]
