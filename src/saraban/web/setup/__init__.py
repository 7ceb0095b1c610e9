"""Set-up pages of projects and of the installation."""
