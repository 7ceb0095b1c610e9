"""What other features and the doors use of `projects`."""

from saraban.projects.domain.master_data import (
    ContractRef,
    DisciplineRef,
    OrganizationRef,
    Party,
    ProjectRef,
    RfaTypeRef,
    SubTypeRef,
    TypeRef,
    by_role,
)
from saraban.projects.service.calendar import (
    add_day,
    read_calendar,
    remove_day,
    set_weekend,
    work_calendar,
)
from saraban.projects.service.drawing_settings import (
    drawing_settings,
    read_drawing_settings,
    reset_drawing_settings,
    save_drawing_settings,
)
from saraban.projects.service.lookup import (
    contract_keys,
    find_contract,
    find_discipline,
    find_organization,
    find_project,
    find_project_by_code,
    find_rfa_type,
    find_sub_type,
    find_type,
    list_all_parties,
    list_parties,
    parties,
    printable_codes,
    require_codes,
    sub_type_numbers,
)
from saraban.projects.service.projects import (
    FilterChoice,
    contracts,
    correspondence_types,
    disciplines,
    filter_choices,
    list_projects,
    lock_project,
    organizations,
    own_scope,
    party_keys,
    projects_of,
    read_project,
    rfa_types,
    sub_types,
    type_names,
    visible_keys,
    visible_project,
)
from saraban.projects.service.teams import (
    TEAM_CHANGED,
    memberships,
    participants,
    remove_member,
    remove_team,
    review_teams,
    save_member,
    save_team,
)
