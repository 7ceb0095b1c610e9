"""`saraban role …`: the matrix of roles and permissions, and roles of one's own."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import typer

from saraban.cli.output import language, print_list, print_table, say, tell
from saraban.cli.run import as_system, reading

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from saraban.identity.domain.context import RequestContext
    from saraban.identity.service.roles import RoleView

Name = Annotated[str, typer.Argument(metavar="ROLE", help="Name of the role, such as “Document Control”.")]
Permissions = Annotated[list[str], typer.Argument(metavar="PERMISSION…", help="Such as document.view.")]

group = typer.Typer(
    no_args_is_help=True, help="Roles: what each may do, and roles of your own, copied from the shipped ones."
)


@group.command("list")
def list_() -> None:
    """List all roles: where each is given, what kind it is, how many permissions it has and how many people hold it.

    Example: `saraban role list`
    """
    from saraban.identity.domain.catalogue import LEVELS
    from saraban.identity.service import roles

    headings = (
        ("ชื่อ", "Name"),
        ("เรียกว่า", "Called"),
        ("ระดับ", "Level"),
        ("ที่มา", "Kind"),
        ("สิทธิ์", "Permissions"),
        ("ผู้ถือ", "Holders"),
        ("สถานะ", "Status"),
    )
    found = reading(roles.list_roles).items
    rows = (
        (
            one.name,
            one.called.say(language()),
            LEVELS[one.level].say(language()),
            _kind(one),
            str(len(one.permissions)),
            str(one.holders),
            say("ใช้งานอยู่", "active") if one.is_active else say("ปิดแล้ว", "closed"),
        )
        for one in found
    )
    print_table(say("บทบาท", "Roles"), headings, rows)


@group.command()
def show(role: Name) -> None:
    """Say what a role lets people do.

    Example: `saraban role show "Contract Admin"`
    """
    from saraban.identity.domain.catalogue import permission_words

    found = reading(_named, role)
    lines = [f"{name}  {permission_words(name).say(language())}" for name in found.permissions]
    print_list(lines, f"{found.name} ({_kind(found)})", f"{found.name} ({_kind(found)})")


@group.command()
def copy(
    role: Name,
    name: Annotated[str, typer.Argument(metavar="NEW", help="Name of the new role.")],
    english: Annotated[str | None, typer.Option(help="What English pages call it.")] = None,
    project: Annotated[str | None, typer.Option(help="Code of the one project in which it can be given.")] = None,
) -> None:
    """Make a role of your own that may what another one may.

    Examples:

        saraban role copy "Contract Admin" "ผู้ตรวจแบบ" --english "Drawing checker"
        saraban role copy "Contract Admin" "ผู้ตรวจสัญญา 2" --project LCBP3-C2
    """
    from saraban.cli.run import project_named
    from saraban.identity.schemas import NewRole
    from saraban.identity.service import roles

    async def work(ctx: "RequestContext", session: "AsyncSession") -> None:
        home = await project_named(session, project) if project else None
        wanted = NewRole.model_validate({"name": name, "name_en": english, "copy_of": role, "project_public_id": home})
        await roles.create_role(ctx, session, wanted=wanted)

    as_system(work)
    tell(f"สร้างบทบาท {name} แล้ว", f"The role {name} is there.")


@group.command()
def allow(role: Name, permissions: Permissions) -> None:
    """Let a role of your own do more; it counts at the next request of everybody who holds it.

    Example: `saraban role allow "ผู้ตรวจแบบ" document.attach_files drawing.create`
    """
    as_system(_change, role, add=permissions)
    tell(f"เพิ่มสิทธิ์ให้ {role} แล้ว", f"{role} may do more now.")


@group.command()
def deny(role: Name, permissions: Permissions) -> None:
    """Take permissions from a role of your own, at once.

    Example: `saraban role deny "ผู้ตรวจแบบ" contract.edit`
    """
    as_system(_change, role, remove=permissions)
    tell(f"ถอนสิทธิ์จาก {role} แล้ว", f"{role} may do less now.")


@group.command()
def close(role: Name) -> None:
    """Close a role of your own: it gives nothing to those who hold it, until it is reopened.

    Example: `saraban role close "ผู้ตรวจแบบ"`
    """
    as_system(_switch, role, is_open=False)
    tell(f"ปิดบทบาท {role} แล้ว", f"The role {role} is closed.")


@group.command()
def reopen(role: Name) -> None:
    """Reopen a role: those who hold it have its permissions again.

    Example: `saraban role reopen "ผู้ตรวจแบบ"`
    """
    as_system(_switch, role, is_open=True)
    tell(f"เปิดใช้บทบาท {role} แล้ว", f"The role {role} is open.")


async def _change(
    ctx: "RequestContext",
    session: "AsyncSession",
    name: str,
    add: Collection[str] = (),
    remove: Collection[str] = (),
) -> None:
    from saraban.identity.schemas import RoleChanges
    from saraban.identity.service import roles

    role = await _named(ctx, session, name)
    permissions = sorted({*role.permissions, *add} - set(remove))
    changes = RoleChanges.model_validate({"permissions": permissions})
    await roles.change_role(ctx, session, public_id=role.public_id, changes=changes)


async def _switch(ctx: "RequestContext", session: "AsyncSession", name: str, *, is_open: bool) -> None:
    from saraban.identity.service import roles

    role = await _named(ctx, session, name)
    await roles.set_role_open(ctx, session, public_id=role.public_id, is_open=is_open)


async def _named(ctx: "RequestContext", session: "AsyncSession", name: str) -> "RoleView":
    from saraban.identity.service import roles

    return await roles.find_role(ctx, session, named=name)


def _kind(one: "RoleView") -> str:
    if one.is_shipped:
        return say("มากับระบบ", "shipped")
    return one.project_code or say("สร้างเอง", "own")
