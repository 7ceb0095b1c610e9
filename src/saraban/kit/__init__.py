"""Base modules for every feature. They import nothing from the packages above."""
