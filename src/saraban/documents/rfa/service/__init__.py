from saraban.documents.rfa.service.items import DrawingRevisionInRfa, item_codes, reads_file, rfas_of_revisions
from saraban.documents.rfa.service.kind import RFA
