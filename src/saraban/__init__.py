"""Saraban (สารบรรณ): document control for construction projects."""

__version__ = "0.1.0"
