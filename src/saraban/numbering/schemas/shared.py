"""What the shapes of `/document-numbering` share."""

from typing import Annotated

from saraban.kit.schema import Line
from saraban.numbering.domain.reason import LONGEST, SHORTEST

Code = Annotated[str, Line(50)]
Reason = Annotated[str, Line(LONGEST, shortest=SHORTEST)]
EXAMPLE_ID = "019505a1-7c3e-7000-8000-abc123def456"
