"""Functions of transmittals that other features use."""

from saraban.documents.transmittal.service.kind import TRANSMITTAL, TRANSMITTAL_RULES, reads_file
