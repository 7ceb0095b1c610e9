from saraban.identity.domain.catalogue import DEMO_ACCOUNTS
from saraban.identity.domain.throttle import ThrottleRules
from saraban.identity.repository.account_rows import DirectoryEntry
from saraban.identity.service.accounts import (
    AccountChange,
    AccountSummary,
    NewAccount,
    UsernameTaken,
    change_user,
    create_user,
    limit_draws,
    list_users,
    set_active,
    set_password,
    unlock,
)
from saraban.identity.service.assignments import (
    ACCOUNT_CHANGED,
    LastSuperAdmin,
    RoleDoesNotFit,
    RoleGrant,
    announce_periods,
    grant_role,
    grant_roles,
    revoke_role,
)
from saraban.identity.service.callers import (
    CallerLoader,
    NotSignedIn,
    OrganizationMember,
    accounts_of,
    find_caller,
    list_organizations,
    load_caller,
    load_callers,
    lock_rights,
    look_up,
    members_of_each,
    profile,
    share_rights,
    system_caller,
    system_context,
    users_of,
)
from saraban.identity.service.delivery_preferences import (
    DeliveryProfile,
    choose_language,
    choose_project,
    chosen_language,
    chosen_project,
    load_delivery_profiles,
    save_delivery_preferences,
)
from saraban.identity.service.first_run import AlreadySetUp, FirstAdministrator, FirstRun, NotSetUp, set_up
from saraban.identity.service.invitations import (
    RESET_REQUESTED,
    USER_INVITED,
    Invitation,
    InvitationEnded,
    accept_invitation,
    change_password,
    count_attempt,
    invite_again,
    invite_user,
    invite_users,
    read_invitation,
    renew_invitation,
    request_reset,
)
from saraban.identity.service.passwords import PasswordsBusy
from saraban.identity.service.people_import import (
    KnownPerson,
    PeopleImport,
    import_people,
    read_people_sheet,
)
from saraban.identity.service.sessions import (
    Device,
    OpenedSession,
    SessionEnded,
    TokenIssuer,
    WrongCredentials,
    delete_expired_sessions,
    log_in,
    log_out,
    refresh,
    user_of_token,
)
from saraban.identity.service.setup_token import (
    SETUP_PATH,
    issue_setup_token,
    require_setup_token,
)
from saraban.identity.service.throttle import DEVICE_COOKIE_LIFE, LogInThrottle, LogInThrottled
