"""The order in which the parts of a project file are saved: what others refer to comes before them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from saraban.numbering import service as numbering
from saraban.setup.domain.comparison import ChangeType, Codes, Difference
from saraban.setup.service import configuration, master_data
from saraban.setup.service.apply_context import ApplyContext

Save = Callable[[ApplyContext, Sequence[Difference]], Awaitable[None]]


async def save(saving: ApplyContext, found: Sequence[Difference]) -> None:
    """Add and change; what the parts refer to comes before them."""
    wanted = [one for one in found if one.what in {ChangeType.ADD, ChangeType.CHANGE}]
    is_new = saving.project is None
    for fits, work in _STEPS:
        those = [one for one in wanted if fits(one.path)]
        if those or work in _ALWAYS:
            await work(saving, those)
            await saving.session.flush()
    if is_new and ("numberFormats",) not in saving.wanted.stated:
        await numbering.default_formats(
            saving.ctx,
            saving.session,
            project_public_id=saving.project_public_id,
        )


def _at(*pattern: str | None) -> Callable[[Codes], bool]:
    """Whether a path has these parts; None stands for any."""
    return lambda path: (
        len(path) == len(pattern)
        and all(part is None or part == code for part, code in zip(pattern, path, strict=True))
    )


_STEPS: Final[Sequence[tuple[Callable[[Codes], bool], Save]]] = (
    (_at("organizations", None), master_data.save_organizations),
    (_at("correspondenceTypes", None), master_data.save_types),
    (_at("project"), master_data.save_project),
    (_at("members", None), master_data.save_members),
    (_at("contracts", None), master_data.save_contracts),
    (_at("contracts", None, "parties", None), master_data.save_parties),
    (_at("contracts", None, "disciplines", None), master_data.save_disciplines),
    (_at("contracts", None, "rfaTypes", None), master_data.save_rfa_types),
    (_at("contracts", None, "subTypes", None), master_data.save_sub_types),
    (_at("people", None), configuration.save_people),
    (_at("people", None, "roles", None), configuration.save_roles),
    (_at("reviewTeams", None), configuration.save_teams),
    (_at("reviewTeams", None, "members", None), configuration.save_seats),
    (_at("numberFormats", None), configuration.save_formats),
    (_at("assignments", None), configuration.save_assignments),
    (_at("calendar"), configuration.save_calendar),
    (_at("calendar", "days", None), configuration.save_days),
)
# They look up the rows that later steps refer to.
_ALWAYS: Final = frozenset({master_data.save_organizations, master_data.save_types, master_data.save_contracts})
