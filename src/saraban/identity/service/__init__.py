"""What other features and the doors use of `identity`."""

from saraban.identity.domain.demo import DEMO_ACCOUNTS
from saraban.identity.domain.throttle import ThrottleRules
from saraban.identity.service.accounts import (
    ACCOUNT_CHANGED,
    AccountSummary,
    RoleDoesNotFit,
    UsernameTaken,
    create_user,
    grant_role,
    limit_draws,
    list_users,
    revoke_role,
    set_active,
    set_password,
    unlock,
)
from saraban.identity.service.callers import (
    CallerLoader,
    OrganizationMember,
    find_caller,
    load_caller,
    load_callers,
    members_of_each,
    profile,
    system_caller,
    users_of,
)
from saraban.identity.service.delivery_preferences import (
    DeliveryProfile,
    choose_language,
    chosen_language,
    load_delivery_profiles,
    save_delivery_preferences,
)
from saraban.identity.service.device_cookies import DEVICE_COOKIE_LIFE
from saraban.identity.service.first_run import AlreadySetUp, FirstAdministrator, FirstRun, NotSetUp, set_up
from saraban.identity.service.invitations import (
    USER_INVITED,
    Invitation,
    InvitationEnded,
    accept_invitation,
    invite_again,
    invite_user,
    read_invitation,
    renew_invitation,
)
from saraban.identity.service.organizations import list_organizations, read_organization
from saraban.identity.service.password_change import TooManyPasswords, change_password
from saraban.identity.service.passwords import PasswordsBusy
from saraban.identity.service.people_import import KnownPerson, PeopleImport, import_people
from saraban.identity.service.sessions import (
    Device,
    OpenedSession,
    WrongCredentials,
    delete_expired_sessions,
    log_in,
    log_out,
    refresh,
)
from saraban.identity.service.throttle import LogInThrottle, LogInThrottled
from saraban.identity.service.tokens import NotSignedIn, SessionEnded, TokenIssuer

__all__ = [
    "ACCOUNT_CHANGED",
    "DEMO_ACCOUNTS",
    "DEVICE_COOKIE_LIFE",
    "USER_INVITED",
    "AccountSummary",
    "AlreadySetUp",
    "CallerLoader",
    "DeliveryProfile",
    "Device",
    "FirstAdministrator",
    "FirstRun",
    "Invitation",
    "InvitationEnded",
    "KnownPerson",
    "LogInThrottle",
    "LogInThrottled",
    "NotSetUp",
    "NotSignedIn",
    "OpenedSession",
    "OrganizationMember",
    "PasswordsBusy",
    "PeopleImport",
    "RoleDoesNotFit",
    "SessionEnded",
    "ThrottleRules",
    "TokenIssuer",
    "TooManyPasswords",
    "UsernameTaken",
    "WrongCredentials",
    "accept_invitation",
    "change_password",
    "choose_language",
    "chosen_language",
    "create_user",
    "delete_expired_sessions",
    "find_caller",
    "grant_role",
    "import_people",
    "invite_again",
    "invite_user",
    "limit_draws",
    "list_organizations",
    "list_users",
    "load_caller",
    "load_callers",
    "load_delivery_profiles",
    "log_in",
    "log_out",
    "members_of_each",
    "profile",
    "read_invitation",
    "read_organization",
    "refresh",
    "renew_invitation",
    "revoke_role",
    "save_delivery_preferences",
    "set_active",
    "set_password",
    "set_up",
    "system_caller",
    "unlock",
    "users_of",
]
