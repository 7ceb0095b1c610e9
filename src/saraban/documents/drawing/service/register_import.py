"""Imports of drawing registers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from saraban.documents.drawing.domain import CREATE, KINDS, DrawingKind
from saraban.documents.drawing.domain.register_import import columns_of
from saraban.documents.drawing.models import DrawingImport
from saraban.documents.drawing.schemas import DrawingImportCommit, DrawingImportQuery
from saraban.documents.drawing.service.import_lines import RegisterImport, place_ids
from saraban.identity.domain.context import RequestContext, Scope
from saraban.imports.service.run import Importer, ImportTurn
from saraban.kit.db import Database
from saraban.kit.errors import NotFound, Text, unknown
from saraban.kit.json import Json
from saraban.kit.sheet_columns import SheetColumn, SheetRow
from saraban.kit.text import Spellings
from saraban.projects import service as projects
from saraban.setup.domain.master_kinds import DRAWING_CATEGORIES, MasterKind
from saraban.setup.service import master_data, master_import

MANAGE: Final = "project.edit"
Turn = ImportTurn[DrawingImport]
_VOLUMES, _CATEGORIES, _SUBS, _MAIN, _SHOP_SUBS = DRAWING_CATEGORIES


class DrawingImporter(Importer[DrawingImport]):
    """Registrars see their own imports; managers see those of the project."""

    model = DrawingImport

    def __init__(self, kind: DrawingKind) -> None:
        self.kind, self.columns = kind, columns_of(kind)
        self.path, self.name = f"/drawings/{kind.path}/imports", f"{kind.path.title()} drawings"

    def of(self, row: DrawingImport) -> Importer[DrawingImport]:
        return DRAWING_IMPORTERS[row.kind]

    async def project(self, ctx: RequestContext, session: AsyncSession, public_id: UUID) -> int:
        try:
            return (await projects.visible_project(ctx, session, public_id)).id
        except NotFound:
            raise unknown("query:projectPublicId", str(public_id)) from None

    async def template_columns(
        self, ctx: RequestContext, session: AsyncSession, project: UUID | None, /
    ) -> Sequence[SheetColumn]:
        if project is None:
            return self.columns
        place = await projects.find_project(session, public_id=project, pointer="query:projectPublicId")
        run = RegisterImport(ctx, self.kind, place, {})
        await run.load(session)
        disciplines = await projects.disciplines(ctx, session, project_public_id=project)
        codes = {**run.codes, **run.ids, "main_category": run.codes["category"]}
        codes["discipline"] = {discipline.code for discipline in disciplines}
        return [
            replace(column, choices={code: Text(code, code) for code in sorted(codes.get(column.key, ()))})
            for column in self.columns
        ]

    def visible_imports(self, ctx: RequestContext, project: int) -> Sequence[sa.ColumnElement[bool]]:
        of_kind, is_own = DrawingImport.kind == self.kind.path, DrawingImport.user_id == ctx.caller.user_id
        return (of_kind,) if ctx.caller.may(MANAGE, Scope(project=project)) else (of_kind, is_own)

    def may_read(self, ctx: RequestContext, row: DrawingImport) -> bool:
        is_own = row.user_id == ctx.caller.user_id
        return row.kind == self.kind.path and (is_own or ctx.caller.may(MANAGE, Scope(project=row.project_id)))

    async def new_import(self, ctx: RequestContext, session: AsyncSession, query: DrawingImportQuery) -> DrawingImport:
        ctx.caller.require_somewhere(CREATE)
        project = await self.project(ctx, session, query.project)
        detail = await projects.read_project(ctx, session, public_id=query.project)
        for name, ids in place_ids(detail).items():
            code = getattr(query, name)
            if code is not None and code not in ids:
                raise unknown(f"query:{name}", code)
        return DrawingImport(
            project_id=project, kind=self.kind.path, contract=query.contract, originator=query.originator
        )

    def choose(self, ctx: RequestContext, row: DrawingImport, choice: DrawingImportCommit) -> Mapping[str, object]:
        """:raises Forbidden: if the caller may not create the missing codes"""
        if choice.create_missing and any((row.report or {}).get("missing", {}).values()):
            ctx.caller.require(_VOLUMES.create, Scope(project=row.project_id))
        row.creates_missing = choice.create_missing
        return {"createMissing": choice.create_missing}

    async def begin(self, ctx: RequestContext, db: Database, turn: Turn) -> RegisterImport:
        """Create missing codes; codes created since the dry run stay unchanged."""
        row = turn.row
        if row.creates_missing:
            codes = (row.report or {}).get("missing", {})
            await db.transact(create_codes, ctx, self.kind, owner=turn.found.project, codes=codes)
        async with db.reading() as session:
            place = await projects.find_project(session, public_id=turn.found.project, pointer="/projectPublicId")
            run = RegisterImport(ctx, self.kind, place, {"contract": row.contract, "originator": row.originator})
            await run.load(session)
        return run


DRAWING_IMPORTERS: Final = {path: DrawingImporter(kind) for path, kind in KINDS.items()}


async def create_codes(
    ctx: RequestContext, session: AsyncSession, register: DrawingKind, *, owner: UUID, codes: Mapping[str, Any]
) -> None:
    """:param codes: as `MissingCodes.report` returns them"""
    main, sub = (_CATEGORIES, _SUBS) if register.whole else (_MAIN, _SHOP_SUBS)
    for kind, listed in ((_VOLUMES, codes.get("volumes")), (main, codes.get("categories"))):
        await _import_list(ctx, session, kind, owner, {code: {} for code in listed or ()})
    categories: dict[str, dict[str, Json]] = {code: {} for code in codes.get("subCategories", ())}
    for category, code in codes.get("pairs", ()):
        stated = categories.setdefault(code, {})
        stated["categories"] = ", ".join(filter(None, [str(stated.get("categories") or ""), category]))
    await _import_list(ctx, session, sub, owner, categories)


async def _import_list(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, owner: UUID, rows: Mapping[str, Mapping[str, Json]]
) -> None:
    if not rows:
        return
    page = await master_data.list_rows(ctx, session, kind, owner=owner, include_closed=True, limit=master_data.EVERY)
    present = Spellings({row.code: dict(row.values) for row in page.items})
    sheet = []
    for number, (code, stated) in enumerate(rows.items(), 1):
        named = {field.name: code for field in kind.fields if field.required}
        values = present.get(code) or {kind.code.name: code, **named}
        categories = [str(row["categories"]) for row in (values, stated) if row.get("categories")]
        values |= {"categories": ", ".join(categories)} if categories else {}
        sheet.append(SheetRow(number, {field.name: str(values.get(field.name) or "") for field in kind.fields}))
    await master_import.import_rows(ctx, session, kind, owner=owner, rows=sheet)
