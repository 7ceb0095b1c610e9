"""Master data over HTTP: the same operations for each kind, with its path and fields."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query, Request
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.responses import Response

from saraban.identity.dependencies import Context, KeyedContext
from saraban.identity.domain.context import RequestContext
from saraban.kit.http import (
    BINARY,
    MEDIA,
    Db,
    Idempotent,
    IfMatch,
    Language,
    NamedSheet,
    PageLimit,
    PathId,
    ReadSession,
    Received,
    async_dependency,
    read_after_commit,
    read_sent_sheet,
    respond,
    sheet_body,
    written_file,
)
from saraban.kit.json import Json
from saraban.kit.operation import Operation, Receipt
from saraban.kit.schema import SingleLine
from saraban.setup.domain.master_kinds import CONTRACT, KINDS, PROJECT, MasterKind, Owner
from saraban.setup.domain.master_rows import MasterAddress, MasterRow
from saraban.setup.schemas import master_data as schemas
from saraban.setup.service import master_data as service
from saraban.setup.service import master_import

router = APIRouter()

Search = Annotated[
    Annotated[str, SingleLine(100)] | None, Query(description="Part of the code or of a name.", examples=["A"])
]
Cursor = Annotated[str | None, Query(max_length=500, description="`nextCursor` of the page before.")]
Closed = Annotated[bool, Query(alias="includeClosed", description="Those that are closed, too.")]
Code = Annotated[str, Path(min_length=1, max_length=50, description="Code of the row.")]
TypeCode = Annotated[
    Annotated[str, SingleLine(50)] | None,
    Query(alias="typeCode", description="Needed where the code stands under two document types."),
]

_XLSX: Final[dict[str, Json]] = {MEDIA["xlsx"]: {"schema": {"type": "string", "format": "binary"}}}
_WORKBOOK: Final = sheet_body("A sheet as the export gives it, with at most 5,000 rows.")


@dataclass(frozen=True, slots=True)
class RowRequest:
    ctx: KeyedContext
    db: Db
    idempotency: Idempotent

    async def show(
        self, receipt: Receipt, kind: MasterKind, owner: UUID | None, *, location: str | None = None
    ) -> Response:
        """:param location: path of new rows, for the `Location` header"""
        code, within = str(receipt.outcome["code"]), receipt.outcome["within"]
        address = MasterAddress(code, owner, str(within) if within else None, receipt.public_id)
        async with read_after_commit(self.db) as session:
            row = await service.read(self.ctx, session, kind, address)
        headers = {"ETag": row.etag}
        if location is not None:
            public_id = str(row.public_id or owner)
            headers["Location"] = f"/api/v1{location}".format(publicId=public_id, code=quote(row.code, safe=""))
        return respond(schemas.shown(row), status=201 if location else 200, receipt=receipt, headers=headers)


async def _create(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, owner: UUID | None, new: schemas.MasterRowNew
) -> Receipt:
    return _receipt(await service.create(ctx, session, kind, owner=owner, new=new))


async def _change(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    address: MasterAddress,
    wanted: schemas.MasterRowChange,
    if_match: str | None,
) -> Receipt:
    return _receipt(await service.change(ctx, session, kind, address, wanted=wanted, if_match=if_match))


async def _set_active(
    ctx: RequestContext,
    session: AsyncSession,
    kind: MasterKind,
    address: MasterAddress,
    *,
    active: bool,
    if_match: str | None,
) -> Receipt:
    return _receipt(await service.set_active(ctx, session, kind, address, active=active, if_match=if_match))


def _receipt(row: MasterRow) -> Receipt:
    return Receipt("master_row", row.public_id, {"code": row.code, "within": row.within or None})


async def _reorder(
    ctx: RequestContext, session: AsyncSession, kind: MasterKind, owner: UUID | None, codes: Sequence[str]
) -> Receipt:
    await service.reorder(ctx, session, kind, owner=owner, codes=codes)
    return Receipt("master_order")


def _dependency(function: Callable[..., object]) -> Any:
    return Depends(async_dependency(function))


Changing = Annotated[RowRequest, _dependency(RowRequest)]


def _no_owner() -> None:
    pass


def _owner(public_id: PathId) -> UUID:
    return public_id


def _address_by_id(public_id: PathId) -> MasterAddress:
    return MasterAddress(public_id=public_id)


def _address_in_installation(code: Code) -> MasterAddress:
    return MasterAddress(code)


def _address_in_owner(public_id: PathId, code: Code) -> MasterAddress:
    return MasterAddress(code, public_id)


def _address_in_type(public_id: PathId, code: Code, type_code: TypeCode = None) -> MasterAddress:
    return MasterAddress(code, public_id, type_code)


class _Routes:
    def __init__(self, kind: MasterKind) -> None:
        self.kind = kind
        self.list_path = ("" if kind.owner is Owner.INSTALLATION else f"/{kind.owner}s/{{publicId}}") + f"/{kind.path}"
        self.path = f"/{kind.path}/{{publicId}}" if kind.has_public_id else f"{self.list_path}/{{code}}"
        # Codes can contain a slash, which is decoded before routing.
        self.row_path = self.path.replace("{code}", "{code:path}")
        address: Callable[..., MasterAddress] = _address_in_owner
        if kind.has_public_id:
            address = _address_by_id
        elif kind.within:
            address = _address_in_type
        elif kind.owner is Owner.INSTALLATION:
            address = _address_in_installation
        owner: Callable[..., UUID | None] = _no_owner if kind.owner is Owner.INSTALLATION else _owner
        self.owner, self.address = _dependency(owner), _dependency(address)
        self.row = schemas.row_out(kind)

    def add(self, method: str, path: str, verb: str, function: Callable[..., Any], summary: str, **more: Any) -> None:
        kind = self.kind
        router.add_api_route(
            path,
            function,
            methods=[method],
            tags=[kind.plural.en.capitalize() if kind.has_public_id else "Master data"],
            summary=summary,
            name=f"{verb}_{kind.name}",
            **more,
        )

    def add_reading(self) -> None:
        kind = self.kind

        async def read(ctx: Context, session: ReadSession, address: Annotated[MasterAddress, self.address]) -> Response:
            """Returns closed rows, too. Send the `ETag` as `If-Match` with the next change."""
            row = await service.read(ctx, session, kind, address)
            return respond(schemas.shown(row), headers={"ETag": row.etag})

        self.add("GET", self.row_path, "read", read, f"Read a row: {kind.singular.en}", response_model=self.row)

    def add_list(self) -> None:
        kind = self.kind
        page: Any = schemas.row_page(kind)

        async def list_of(
            ctx: Context,
            session: ReadSession,
            owner: Annotated[UUID | None, self.owner],
            search: Search = None,
            include_closed: Closed = False,
            cursor: Cursor = None,
            limit: PageLimit = 50,
        ) -> Any:
            """Rows are in the order of the forms."""
            rows = await service.list_rows(
                ctx,
                session,
                kind,
                owner=owner,
                search=search,
                include_closed=include_closed,
                cursor=cursor,
                limit=limit,
            )
            return page(items=[schemas.shown(row) for row in rows.items], nextCursor=rows.next_cursor)

        self.add("GET", self.list_path, "list", list_of, f"List {kind.plural.en}", response_model=page)

    def add_change(self) -> None:
        kind = self.kind

        async def change(
            body: Annotated[schemas.MasterRowChange, Depends(Received("body", schemas.row_change(kind)))],
            request: Changing,
            address: Annotated[MasterAddress, self.address],
            if_match: IfMatch = None,
        ) -> Response:
            """
            Fields that are left out stay unchanged. If document numbers print the changed code,
            the first answer is 409 with each series that would start again at 1; confirm with
            `confirmSeries`.
            """
            payload = {**body.values, "confirmSeries": body.confirm_series, "of": _address_parts(address)}
            operation = Operation.of(request.ctx, f"PATCH {kind.name}", payload)
            receipt = await request.idempotency.run(operation, _change, request.ctx, kind, address, body, if_match)
            return await request.show(receipt, kind, address.owner)

        self.add("PATCH", self.row_path, "change", change, f"Change a row: {kind.singular.en}", response_model=self.row)

    def add_closing(self, verb: str, *, active: bool) -> None:
        kind = self.kind

        async def end(
            request: Changing, address: Annotated[MasterAddress, self.address], if_match: IfMatch = None
        ) -> Response:
            """
            A closed row stays on its documents and disappears from forms. A repeated request
            changes nothing.
            """
            operation = Operation.of(request.ctx, f"POST {kind.name} {verb}", {"of": _address_parts(address)})
            receipt = await request.idempotency.run(
                operation, _set_active, request.ctx, kind, address, active=active, if_match=if_match
            )
            return await request.show(receipt, kind, address.owner)

        self.add(
            "POST",
            f"{self.row_path}/{verb}",
            verb,
            end,
            f"{verb.capitalize()} a row: {kind.singular.en}",
            response_model=self.row,
        )

    def add_creation(self) -> None:
        kind = self.kind

        async def create(
            body: Annotated[schemas.MasterRowNew, Depends(Received("body", schemas.new_row(kind)))],
            request: Changing,
            owner: Annotated[UUID | None, self.owner],
        ) -> Response:
            """The row is added at the end of its list."""
            payload = {**body.model_dump(mode="json", by_alias=True), "owner": str(owner)}
            operation = Operation.of(request.ctx, f"POST {kind.name}", payload)
            receipt = await request.idempotency.run(operation, _create, request.ctx, kind, owner, body)
            return await request.show(receipt, kind, owner, location=self.path)

        self.add(
            "POST",
            self.list_path,
            "create",
            create,
            f"Add a row: {kind.singular.en}",
            status_code=201,
            response_model=self.row,
        )

    def add_order(self) -> None:
        kind = self.kind

        async def order(
            body: schemas.MasterOrder,
            ctx: KeyedContext,
            idempotency: Idempotent,
            owner: Annotated[UUID | None, self.owner],
        ) -> None:
            """The named rows come first, in the given order; the others keep their order."""
            operation = Operation.of(ctx, f"PUT {kind.name} order", {"codes": body.codes, "owner": str(owner)})
            await idempotency.run(operation, _reorder, ctx, kind, owner, body.codes)

        self.add("PUT", f"{self.list_path}/order", "order", order, f"Put {kind.plural.en} in order", status_code=204)

    def add_workbooks(self) -> None:
        kind = self.kind

        async def export(
            ctx: Context,
            session: ReadSession,
            owner: Annotated[UUID | None, self.owner],
            include_closed: Closed = False,
        ) -> Response:
            """
            Returns a workbook that can be edited and imported again. Values that look like formulas
            are stored as text.
            """
            rows = await service.list_rows(
                ctx, session, kind, owner=owner, include_closed=include_closed, limit=service.EVERY
            )
            name = f"{kind.path.replace('/', '-')}.xlsx"
            return await written_file(
                name, lambda path: asyncio.to_thread(master_import.write_workbook, kind, rows.items, path)
            )

        async def import_(
            ctx: Context,
            request: Request,
            db: Db,
            owner: Annotated[UUID | None, self.owner],
            language: Language,
            dry_run: Annotated[
                bool, Query(alias="dryRun", description="Say what it would do, and do nothing.")
            ] = False,
            confirm_series: Annotated[
                bool, Query(alias="confirmSeries", description="Change what numbers print, too.")
            ] = False,
            sheet: NamedSheet = None,
        ) -> schemas.MasterImportOut:
            """
            Adds new rows and changes rows that differ, all or nothing. Faults name row and field:
            `/3/nameEn`.
            """
            async with db.reading() as session:  # check permissions before reporting faults of the file
                await master_import.require_import(ctx, session, kind, owner)
            rows = await read_sent_sheet(request, partial(master_import.read_sheet, kind, sheet=sheet))
            result = await db.transact(
                master_import.import_rows,
                ctx,
                kind,
                owner=owner,
                rows=rows,
                dry_run=dry_run,
                confirm_series=confirm_series,
            )
            return schemas.imported(result, language)

        responses: Any = {200: {**BINARY[200], "content": _XLSX}}
        path = f"{self.list_path}/export"
        self.add(
            "GET", path, "export", export, f"Export {kind.plural.en}", response_class=Response, responses=responses
        )
        self.add(
            "POST", f"{self.list_path}/import", "import", import_, f"Import {kind.plural.en}", openapi_extra=_WORKBOOK
        )


def _address_parts(address: MasterAddress) -> list[str | None]:
    ids = (address.public_id, address.owner)
    return [address.code, address.within, *(str(public_id) if public_id else None for public_id in ids)]


def _add_routes(kind: MasterKind) -> None:
    """Add the routes; fixed words come before `{code}`, which matches any text."""
    routes = _Routes(kind)
    if kind.ordered:  # organizations, projects and contracts are listed by other endpoints
        routes.add_order()
        routes.add_list()
    if kind is not PROJECT:  # `POST /projects` also creates its number formats
        routes.add_workbooks()
        routes.add_creation()
    routes.add_closing("close", active=False)
    routes.add_closing("reopen", active=True)
    if kind not in {PROJECT, CONTRACT}:
        routes.add_reading()
    routes.add_change()


for _kind in KINDS:
    _add_routes(_kind)
