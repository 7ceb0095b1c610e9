"""Custom roles; a change counts at once and records `account.changed` for each holder."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.audit import service as audit
from saraban.events import service as events
from saraban.identity.domain import catalogue, roles
from saraban.identity.domain.context import Caller, RequestContext
from saraban.identity.models import Role
from saraban.identity.repository import role_rows
from saraban.identity.repository.role_rows import RoleRow
from saraban.identity.schemas import NewRole, PermissionOut, RoleChanges, RoleOut
from saraban.identity.service.assignments import ACCOUNT_CHANGED
from saraban.identity.service.callers import lock_rights
from saraban.kit.errors import DomainError, ErrorKind, FieldProblem, NotFound, Text, invalid
from saraban.kit.etags import Stale, require_match
from saraban.kit.operation import Receipt
from saraban.kit.pagination import Page, page_of

MOST_ROLES = 500


class RoleShipped(DomainError):
    """A shipped role is the same in each installation; make a copy to change it."""

    kind, code = ErrorKind.CONFLICT, "ROLE_SHIPPED"
    says = Text("บทบาทที่มากับระบบแก้ไขไม่ได้", "A shipped role cannot be changed.")
    recovery = (Text("ทำสำเนาบทบาทนี้แล้วแก้ไขสำเนา", "Copy the role and change the copy."),)


class RoleNameTaken(DomainError):
    """Another role has this name, open or closed, in the installation or in any project: a name means one role."""

    kind, code = ErrorKind.CONFLICT, "ROLE_NAME_TAKEN"
    says = Text("มีบทบาทชื่อนี้แล้ว", "There is a role of this name already.")
    recovery = (Text("เลือกชื่ออื่น", "Choose another name."),)


class RoleNamedByWorkflow(DomainError):
    """A workflow definition names this role; under another name nobody could take its steps."""

    kind, code = ErrorKind.CONFLICT, "ROLE_NAMED_BY_WORKFLOW"
    says = Text("เปลี่ยนชื่อไม่ได้ เพราะกระบวนงานอ้างถึงบทบาทนี้", "A workflow names this role, so its name stays.")
    recovery = (Text("ทำสำเนาเป็นบทบาทใหม่", "Copy it to a new role."),)


class RoleChanged(Stale):
    """`If-Match` names another version of the role than the current one."""

    code = "ROLE_CHANGED"
    says = Text("มีผู้แก้ไขบทบาทนี้ไปแล้ว", "This role has changed in the meantime.")


class RoleView(RoleOut):
    changeable: frozenset[str] = Field(frozenset(), exclude=True)
    may_rename: bool = Field(default=False, exclude=True)
    may_switch: bool = Field(default=False, exclude=True)

    @property
    def etag(self) -> str:
        shown = (self.name, self.called.en, self.description or "", str(self.is_active), *self.permissions)
        digest = hashlib.sha256("\0".join(shown).encode()).hexdigest()
        return f'"{digest[:32]}"'


async def list_permissions(session: AsyncSession) -> tuple[PermissionOut, ...]:
    order = {module: place for place, module in enumerate(catalogue.MODULES)}
    permissions = [
        PermissionOut(
            name=permission,
            module=area,
            module_says=catalogue.MODULES.get(area, Text(area, area)),
            says=catalogue.permission_words(permission),
        )
        for permission in await role_rows.permission_names(session)
        for area in (permission.partition(".")[0],)
    ]
    return tuple(sorted(permissions, key=lambda item: order.get(item.module, len(order))))


async def list_roles(
    ctx: RequestContext,
    session: AsyncSession,
    *,
    project_public_id: UUID | None = None,
    cursor: str | None = None,
    limit: int = MOST_ROLES,
) -> Page[RoleView]:
    """
    Return custom roles, newest first, then shipped ones.

    :raises Forbidden:
    """
    _require_reader(ctx.caller)
    rows = await role_rows.role_page(
        session, seen_in=_visible_projects(ctx.caller), project=project_public_id, cursor=cursor, limit=limit
    )
    page = page_of(rows, limit=limit, key=lambda row: (row.role.created_at, row.role.public_id))
    return Page(await _role_views(ctx, session, page.items), page.next_cursor)


async def read_role(ctx: RequestContext, session: AsyncSession, *, public_id: UUID) -> RoleView:
    """:raises NotFound:"""
    _require_reader(ctx.caller)
    row = await _require_role(ctx, session, public_id)
    return (await _role_views(ctx, session, [row]))[0]


async def find_role(ctx: RequestContext, session: AsyncSession, *, named: str) -> RoleView:
    """:raises NotFound:"""
    row = await role_rows.role(session, id_or_name(named), seen_in=_visible_projects(ctx.caller))
    if row is None:
        raise NotFound(f"There is no role “{named}”.")
    return (await _role_views(ctx, session, [row]))[0]


async def create_role(ctx: RequestContext, session: AsyncSession, *, wanted: NewRole) -> Receipt:
    """
    Create a role; a copy omits permissions that the caller does not hold.

    :raises Invalid, RoleNameTaken, Forbidden:
    """
    await lock_rights(session)
    project = await _find_project(ctx, session, wanted.project_public_id)
    home = roles.home_of(project)
    ctx.caller.require("role.create", home)
    copied = await _find_copied_role(ctx, session, wanted.copy_of)
    level = wanted.level or (copied.role.scope if copied else catalogue.GLOBAL)
    roles.check_names(wanted.name, wanted.name_en)
    roles.check_level(level, of_project=project is not None)
    names = wanted.permissions
    if names is None:
        source = await role_rows.permissions_of_role(session, copied.role.role_id) if copied else frozenset()
        names = sorted(roles.within(source, ctx.caller, home))
    await _check_permissions(session, names)
    roles.require_held(names, ctx.caller, home)
    if names:
        ctx.caller.require("role.assign_permissions", home)
    await _require_free_name(session, wanted.name)
    role = Role(
        role_name=wanted.name,
        role_name_en=wanted.name_en,
        scope=level,
        project_id=project,
        description=wanted.description,
        created_at=ctx.now,
        updated_at=ctx.now,
    )
    session.add(role)
    await session.flush()
    await role_rows.replace_permissions(session, role_id=role.role_id, names=names)
    after = {**_audited_fields(role), "level": level, "permissions": sorted(names)}
    await _record(
        ctx, session, "create", role, {"project": str(wanted.project_public_id or "") or None, "after": after}
    )
    return Receipt("role", role.public_id)


async def change_role(
    ctx: RequestContext, session: AsyncSession, *, public_id: UUID, changes: RoleChanges, if_match: str | None = None
) -> Receipt:
    """:raises RoleShipped, RoleChanged, RoleNamedByWorkflow, Forbidden:"""
    role, before = await _lock_custom_role(ctx, session, public_id, if_match)
    home = roles.home_of(role.project_id)
    stated = changes.model_fields_set
    was = {**_audited_fields(role), "permissions": sorted(before)}
    if stated & {"name", "name_en", "description"}:
        ctx.caller.require("role.edit", home)
        await _rename(session, role, changes)
    gained: Collection[str] = ()
    lost: Collection[str] = ()
    if changes.permissions is not None:
        await _check_permissions(session, changes.permissions)
        wanted = frozenset(changes.permissions)
        gained, lost = sorted(wanted - before), sorted(before - wanted)
        if gained or lost:
            ctx.caller.require("role.assign_permissions", home)
        roles.require_held([*gained, *lost], ctx.caller, home)
        await role_rows.replace_permissions(session, role_id=role.role_id, names=wanted)
    role.updated_at = ctx.now
    after = {**_audited_fields(role), "permissions": sorted(before.union(gained).difference(lost))}
    details = {"before": was, "after": after, "gained": list(gained), "lost": list(lost)}
    await _record(ctx, session, "edit", role, details)
    if gained or lost:
        await _record_changed_holders(ctx, session, role)
    return Receipt("role", role.public_id)


async def set_role_open(
    ctx: RequestContext, session: AsyncSession, *, public_id: UUID, is_open: bool, if_match: str | None = None
) -> Receipt:
    """:raises RoleShipped, Forbidden:"""
    role, permissions = await _lock_custom_role(ctx, session, public_id, if_match)
    home = roles.home_of(role.project_id)
    ctx.caller.require("role.delete", home)
    if is_open:
        roles.require_held(permissions, ctx.caller, home)
    if is_open == (role.deleted_at is None):
        return Receipt("role", role.public_id)
    role.deleted_at, role.updated_at = (None if is_open else ctx.now), ctx.now
    await session.flush()
    details = {"before": {"isActive": not is_open}, "after": {"isActive": is_open}}
    await _record(ctx, session, "reopen" if is_open else "close", role, details)
    await _record_changed_holders(ctx, session, role)
    return Receipt("role", role.public_id)


async def role_texts(session: AsyncSession) -> dict[str, Text]:
    return {name: role_text(name, name_en) for name, name_en in await role_rows.role_names(session)}


def role_text(name: str, name_en: str | None) -> Text:
    return Text(name, name_en) if name_en else catalogue.role_words(name)


def _require_reader(caller: Caller) -> None:
    if not any(map(caller.may_anywhere, _READERS)):
        caller.require_somewhere(_READERS[0])


_READERS = ("role.view", "user.manage_assignments")


def _visible_projects(caller: Caller) -> frozenset[int] | None:
    """Return None for all projects."""
    useful = [grant for grant in caller.grants if any(map(grant.gives, _READERS))]
    if any(grant.is_global for grant in useful):
        return None
    return frozenset(grant.project for grant in useful if grant.project is not None)


async def _require_role(ctx: RequestContext, session: AsyncSession, public_id: UUID) -> RoleRow:
    row = await role_rows.role(session, public_id, seen_in=_visible_projects(ctx.caller))
    if row is None:
        raise NotFound(f"There is no role {public_id}.")
    return row


async def _lock_custom_role(
    ctx: RequestContext, session: AsyncSession, public_id: UUID, if_match: str | None
) -> tuple[Role, frozenset[str]]:
    await lock_rights(session)
    view = await read_role(ctx, session, public_id=public_id)
    role = await role_rows.lock_role(session, public_id)
    require_match(if_match, view.etag, RoleChanged)
    if role.is_system:
        raise RoleShipped
    return role, frozenset(view.permissions)


async def _find_project(ctx: RequestContext, session: AsyncSession, public_id: UUID | None) -> int | None:
    if public_id is None:
        return None
    key = await role_rows.project_by_id(session, public_id)
    if key is None or not any(ctx.caller.may(name, roles.home_of(key)) for name in (*_READERS, "role.create")):
        raise invalid(
            "/projectPublicId",
            "unknown",
            "ไม่พบโครงการ “{value}”",
            "There is no project “{value}”.",
            value=str(public_id),
        )
    return key


async def _find_copied_role(ctx: RequestContext, session: AsyncSession, named: str | None) -> RoleRow | None:
    if named is None:
        return None
    row = await role_rows.role(session, id_or_name(named), seen_in=_visible_projects(ctx.caller))
    if row is None:
        raise invalid("/copyOf", "unknown", "ไม่มีบทบาท “{value}”", "There is no role “{value}”.", value=named)
    return row


def id_or_name(named: str) -> UUID | str:
    try:
        return UUID(named)
    except ValueError:
        return named


async def _check_permissions(session: AsyncSession, names: Sequence[str]) -> None:
    roles.check_permissions(names, await role_rows.permission_names(session))


async def _require_free_name(session: AsyncSession, name: str) -> None:
    if await role_rows.is_role_name_taken(session, name):
        raise RoleNameTaken(fields=[FieldProblem("/name", "taken", RoleNameTaken.says)])


async def _rename(session: AsyncSession, role: Role, changes: RoleChanges) -> None:
    stated = changes.model_fields_set
    name = changes.name or role.role_name
    name_en = changes.name_en if "name_en" in stated else role.role_name_en
    roles.check_names(name, name_en)
    if name != role.role_name:
        await _require_free_name(session, name)
        if await role_rows.is_role_in_definition(session, role.role_name):
            raise RoleNamedByWorkflow
    role.role_name, role.role_name_en = name, name_en
    if "description" in stated:
        role.description = changes.description
    await session.flush()


async def _role_views(ctx: RequestContext, session: AsyncSession, rows: Sequence[RoleRow]) -> list[RoleView]:
    keys = [row.role.role_id for row in rows]
    permissions_of_role = await role_rows.permissions_of_roles(session, keys)
    holders = await role_rows.holder_counts(session, keys)
    all_permissions = await role_rows.permission_names(session)
    return [
        _role_view(
            ctx.caller,
            row,
            permissions_of_role.get(row.role.role_id, frozenset()),
            holders.get(row.role.role_id, 0),
            all_permissions,
        )
        for row in rows
    ]


def _role_view(
    by: Caller, row: RoleRow, permissions: frozenset[str], holders: int, all_permissions: Collection[str]
) -> RoleView:
    role, home = row.role, roles.home_of(row.role.project_id)
    chooses = not role.is_system and by.may("role.assign_permissions", home)
    return RoleView(
        public_id=role.public_id,
        name=role.role_name,
        called=role_text(role.role_name, role.role_name_en),
        level=role.scope,
        is_shipped=role.is_system,
        is_active=role.deleted_at is None,
        project_public_id=row.project_public_id,
        project_code=row.project_code,
        description=role.description,
        permissions=sorted(permissions),
        holders=holders,
        changeable=roles.within(all_permissions, by, home) if chooses else frozenset(),
        may_rename=not role.is_system and by.may("role.edit", home),
        may_switch=not role.is_system and by.may("role.delete", home),
    )


def _audited_fields(role: Role) -> dict[str, str | None]:
    return {"name": role.role_name, "nameEn": role.role_name_en, "description": role.description}


async def _record_changed_holders(ctx: RequestContext, session: AsyncSession, role: Role) -> None:
    people = await role_rows.holders(session, role.role_id)
    changes = [
        events.NewEvent(ACCOUNT_CHANGED, "user", str(person), {"userPublicId": str(person)}, ctx.now)
        for person in people
    ]
    await events.record_all(session, changes)


async def _record(
    ctx: RequestContext, session: AsyncSession, action: str, role: Role, details: Mapping[str, object]
) -> None:
    details = {"role": role.role_name, **details}
    await audit.record(ctx, session, audit.AuditEntry(f"role.{action}", "role", str(role.public_id), details))
