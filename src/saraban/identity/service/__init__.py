"""What other features and the doors use of `identity`."""

from saraban.identity.domain.demo import DEMO_ACCOUNTS
from saraban.identity.domain.throttle import ThrottleRules
from saraban.identity.service.accounts import CHANGED as ACCOUNT_CHANGED
from saraban.identity.service.accounts import (
    Account,
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
    Callers,
    Member,
    find_caller,
    load_caller,
    load_callers,
    members_of_each,
    system_caller,
    users_of,
)
from saraban.identity.service.delivery import Delivery, choose_delivery, choose_language, chosen_language, deliveries
from saraban.identity.service.device_cookies import LIFE as DEVICE_COOKIE_LIFE
from saraban.identity.service.directory import list_organizations, read_organization
from saraban.identity.service.first_run import AlreadySetUp, FirstAdministrator, FirstRun, NotSetUp, set_up
from saraban.identity.service.invitations import INVITED as USER_INVITED
from saraban.identity.service.invitations import (
    Invitation,
    InvitationEnded,
    accept_invitation,
    invite_again,
    invite_user,
    read_invitation,
    renew_invitation,
)
from saraban.identity.service.password_change import TooManyPasswords, change_password
from saraban.identity.service.passwords import PasswordsBusy
from saraban.identity.service.people_import import KnownPerson, PeopleImport, import_people
from saraban.identity.service.profile import profile
from saraban.identity.service.sessions import (
    Device,
    SignedIn,
    WrongCredentials,
    forget_sessions,
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
    "Account",
    "AlreadySetUp",
    "Callers",
    "Delivery",
    "Device",
    "FirstAdministrator",
    "FirstRun",
    "Invitation",
    "InvitationEnded",
    "KnownPerson",
    "LogInThrottle",
    "LogInThrottled",
    "Member",
    "NotSetUp",
    "NotSignedIn",
    "PasswordsBusy",
    "PeopleImport",
    "RoleDoesNotFit",
    "SessionEnded",
    "SignedIn",
    "ThrottleRules",
    "TokenIssuer",
    "TooManyPasswords",
    "UsernameTaken",
    "WrongCredentials",
    "accept_invitation",
    "change_password",
    "choose_delivery",
    "choose_language",
    "chosen_language",
    "create_user",
    "deliveries",
    "find_caller",
    "forget_sessions",
    "grant_role",
    "import_people",
    "invite_again",
    "invite_user",
    "limit_draws",
    "list_organizations",
    "list_users",
    "load_caller",
    "load_callers",
    "log_in",
    "log_out",
    "members_of_each",
    "profile",
    "read_invitation",
    "read_organization",
    "refresh",
    "renew_invitation",
    "revoke_role",
    "set_active",
    "set_password",
    "set_up",
    "system_caller",
    "unlock",
    "users_of",
]
