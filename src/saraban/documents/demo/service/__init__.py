"""The demo: documents with a past, and the story of a few new ones; all through the services people use."""

from saraban.documents.demo.domain.walkthrough import STEPS
from saraban.documents.demo.service.demo_context import DemoMissing, DemoProject, DemoServices, find_demo_project
from saraban.documents.demo.service.demo_walkthrough import WalkthroughDocument, WalkthroughStep, walk_through
from saraban.documents.demo.service.loader import load

__all__ = [
    "STEPS",
    "DemoMissing",
    "DemoProject",
    "DemoServices",
    "WalkthroughDocument",
    "WalkthroughStep",
    "find_demo_project",
    "load",
    "walk_through",
]
