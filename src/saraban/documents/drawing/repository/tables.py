"""Tables and columns of each register."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.orm import InstrumentedAttribute

from saraban.documents.drawing.domain import ASBUILT, CONTRACT, SHOP, DrawingKind
from saraban.documents.drawing.models import (
    AsbuiltDrawing,
    AsbuiltDrawingRevision,
    AsbuiltDrawingRevisionAttachment,
    AsbuiltDrawingTag,
    AsbuiltRevisionShopRevisionRef,
    ContractDrawing,
    ContractDrawingRevision,
    ContractDrawingRevisionAttachment,
    ContractDrawingTag,
    Drawing,
    DrawingFile,
    DrawingRevision,
    DrawingTag,
    ShopDrawing,
    ShopDrawingRevision,
    ShopDrawingRevisionAttachment,
    ShopDrawingRevisionContractRef,
    ShopDrawingTag,
)
from saraban.kit.db import Base, table_of
from saraban.kit.keys import is_spelled
from saraban.kit.text import sort_key
from saraban.projects.models import (
    ContractDrawingCategory,
    ContractDrawingCategoryPair,
    ContractDrawingSubCategory,
    ContractDrawingVolume,
    ShopDrawingMainCategory,
    ShopDrawingSubCategory,
)

Column = InstrumentedAttribute
Condition = sa.ColumnElement[bool]


@dataclass(frozen=True, slots=True)
class ListTable:
    """
    :param columns: code, Thai name and English name
    :param joined: joins from the head, in order
    :param has: returns the condition of the drawings with a code
    """

    columns: tuple[Column[str], Column[str], Column[str | None]]
    joined: tuple[tuple[type[Any], Condition], ...]
    has: Callable[[str], Condition]


@dataclass(frozen=True, slots=True)
class DrawingTables:
    """
    :param drawing: foreign key of a revision; `of_file`: of a file
    :param lists: in the order of their joins
    """

    head: type[Drawing]
    revision: type[DrawingRevision]
    file: type[DrawingFile]
    tag: type[DrawingTag]
    number: Column[str]
    drawing: Column[int]
    of_file: Column[int]
    lists: Mapping[str, ListTable]
    page: Column[int | None] | None = None

    @property
    def tagged(self) -> sa.Table:
        return table_of(self.tag)

    def is_numbered(self, numbers: Iterable[str]) -> Condition:
        """Match by sort key, which ignores differences in spelling."""
        return self.head.number_sort.in_([sort_key(number) for number in numbers])

    @property
    def taken(self) -> tuple[str, str]:
        """Constraint or column that a database names for a taken number."""
        (unique,) = (rule for rule in table_of(self.head).constraints if isinstance(rule, sa.UniqueConstraint))
        return str(unique.name), f"{self.head.__tablename__}.{self.number.key}"


def _direct_list(
    key: Column[int | None], code: Column[str], name: Column[str], name_en: Column[str | None]
) -> ListTable:
    model: type[Any] = code.class_  # type: ignore[assignment]
    return ListTable(
        (code, name, name_en),
        ((model, model.id == key),),
        lambda value: key.in_(sa.select(model.id).where(is_spelled(code, [value]))),
    )


def _paired_list(
    key: Column[int], code: Column[str], name: Column[str], name_en: Column[str | None], *, first: bool = False
) -> ListTable:
    """:param first: join the table of pairs first"""
    model: type[Any] = code.class_  # type: ignore[assignment]
    pair = ContractDrawingCategoryPair
    leading = ((pair, pair.id == ContractDrawing.map_cat_id),) if first else ()
    return ListTable(
        (code, name, name_en),
        (*leading, (model, model.id == key)),
        lambda value: ContractDrawing.map_cat_id.in_(
            sa.select(pair.id).join(model, model.id == key).where(is_spelled(code, [value]))
        ),
    )


def _contract_lists() -> dict[str, ListTable]:
    pair, main, sub = ContractDrawingCategoryPair, ContractDrawingCategory, ContractDrawingSubCategory
    volume = ContractDrawingVolume
    return {
        "category": _paired_list(pair.cat_id, main.cat_code, main.cat_name, main.cat_name_en, first=True),
        "sub_category": _paired_list(pair.sub_cat_id, sub.sub_cat_code, sub.sub_cat_name, sub.sub_cat_name_en),
        "volume": _direct_list(
            ContractDrawing.volume_id, volume.volume_code, volume.volume_name, volume.volume_name_en
        ),
    }


def _shop_lists(head: type[ShopDrawing | AsbuiltDrawing]) -> dict[str, ListTable]:
    main, sub = ShopDrawingMainCategory, ShopDrawingSubCategory
    of_main = (main.main_category_code, main.main_category_name, main.main_category_name_en)
    of_sub = (sub.sub_category_code, sub.sub_category_name, sub.sub_category_name_en)
    return {
        "category": _direct_list(head.main_category_id, *of_main),
        "sub_category": _direct_list(head.sub_category_id, *of_sub),
    }


_TABLES: Final[Mapping[DrawingKind, DrawingTables]] = {
    CONTRACT: DrawingTables(
        ContractDrawing,
        ContractDrawingRevision,
        ContractDrawingRevisionAttachment,
        ContractDrawingTag,
        ContractDrawing.condwg_no,
        ContractDrawingRevision.contract_drawing_id,
        ContractDrawingRevisionAttachment.contract_drawing_revision_id,
        _contract_lists(),
        ContractDrawing.volume_page,
    ),
    SHOP: DrawingTables(
        ShopDrawing,
        ShopDrawingRevision,
        ShopDrawingRevisionAttachment,
        ShopDrawingTag,
        ShopDrawing.drawing_number,
        ShopDrawingRevision.shop_drawing_id,
        ShopDrawingRevisionAttachment.shop_drawing_revision_id,
        _shop_lists(ShopDrawing),
    ),
    ASBUILT: DrawingTables(
        AsbuiltDrawing,
        AsbuiltDrawingRevision,
        AsbuiltDrawingRevisionAttachment,
        AsbuiltDrawingTag,
        AsbuiltDrawing.drawing_number,
        AsbuiltDrawingRevision.asbuilt_drawing_id,
        AsbuiltDrawingRevisionAttachment.asbuilt_drawing_revision_id,
        _shop_lists(AsbuiltDrawing),
    ),
}


def tables_of(kind: DrawingKind) -> DrawingTables:
    return _TABLES[kind]


@dataclass(frozen=True, slots=True)
class ReferenceTables:
    link: type[Base]
    source: Column[int]
    target: Column[int]


REFERENCES: Final[Mapping[DrawingKind, ReferenceTables]] = {
    SHOP: ReferenceTables(
        ShopDrawingRevisionContractRef,
        ShopDrawingRevisionContractRef.shop_drawing_revision_id,
        ShopDrawingRevisionContractRef.contract_drawing_id,
    ),
    ASBUILT: ReferenceTables(
        AsbuiltRevisionShopRevisionRef,
        AsbuiltRevisionShopRevisionRef.asbuilt_drawing_revision_id,
        AsbuiltRevisionShopRevisionRef.shop_drawing_revision_id,
    ),
}
