"""Transmittals: documents and drawings that go from one organization to others."""

from saraban.documents.transmittal.service.kind import TRANSMITTAL, TRANSMITTAL_RULES, reads_file
