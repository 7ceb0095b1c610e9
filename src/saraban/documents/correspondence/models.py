"""
Rows of letters, memos and RFIs: they have none of their own, the master's are all they need.

The names are given again here so that this feature's repository says what it works on.
"""

from saraban.documents.core.models import Correspondence, CorrespondenceRecipient, CorrespondenceRevision

__all__ = ["Correspondence", "CorrespondenceRecipient", "CorrespondenceRevision"]
