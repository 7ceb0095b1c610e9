"""What the registers of drawings ask of RFAs: for which revisions approval has been asked."""

from saraban.documents.rfa.repository.submissions import submitted

__all__ = ["submitted"]
