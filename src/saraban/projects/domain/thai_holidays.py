"""
Public holidays of Thailand, 2568 to 2570 B.E. (2025 to 2027), written down from the calendar of the law and the cabinet's rules.

Days with a fixed date are those of the government's list with Labour Day, which building sites keep; those of the moon
follow the Thai lunar calendar; one that falls on a weekend has its substitute beside it, on the next day that is worked.
Special days that the cabinet gives late are for each project to add, as are years that are not here yet.
"""

from datetime import date
from typing import Final

from saraban.kit.errors import Text

_NEW_YEAR = Text("วันขึ้นปีใหม่", "New Year's Day")
_SPECIAL = Text("วันหยุดพิเศษ", "Special holiday")
_MAKHA = Text("วันมาฆบูชา", "Makha Bucha Day")
_CHAKRI = Text("วันจักรี", "Chakri Memorial Day")
_SONGKRAN = Text("วันสงกรานต์", "Songkran Festival")
_LABOUR = Text("วันแรงงานแห่งชาติ", "National Labour Day")
_CORONATION = Text("วันฉัตรมงคล", "Coronation Day")
_VISAKHA = Text("วันวิสาขบูชา", "Visakha Bucha Day")
_QUEEN = Text("วันเฉลิมพระชนมพรรษาสมเด็จพระราชินี", "H.M. the Queen's Birthday")
_ASANHA = Text("วันอาสาฬหบูชา", "Asanha Bucha Day")
_KING = Text("วันเฉลิมพระชนมพรรษาพระบาทสมเด็จพระเจ้าอยู่หัว", "H.M. the King's Birthday")
_MOTHER = Text("วันแม่แห่งชาติ", "Mother's Day")
_BHUMIBOL = Text("วันนวมินทรมหาราช", "H.M. King Bhumibol Adulyadej Memorial Day")
_CHULALONGKORN = Text("วันปิยมหาราช", "Chulalongkorn Day")
_FATHER = Text("วันพ่อแห่งชาติ", "Father's Day")
_CONSTITUTION = Text("วันรัฐธรรมนูญ", "Constitution Day")
_YEAR_END = Text("วันสิ้นปี", "New Year's Eve")


def _instead(of: Text) -> Text:
    return Text(f"วันหยุดชดเชย{of.th}", f"Substitute for {of.en}")


_DAYS: Final[dict[int, tuple[tuple[int, int, Text], ...]]] = {
    2025: (
        (1, 1, _NEW_YEAR),
        (2, 12, _MAKHA),
        (4, 6, _CHAKRI),
        (4, 7, _instead(_CHAKRI)),
        (4, 13, _SONGKRAN),
        (4, 14, _SONGKRAN),
        (4, 15, _SONGKRAN),
        (4, 16, _instead(_SONGKRAN)),
        (5, 1, _LABOUR),
        (5, 4, _CORONATION),
        (5, 5, _instead(_CORONATION)),
        (5, 11, _VISAKHA),
        (5, 12, _instead(_VISAKHA)),
        (6, 2, _SPECIAL),
        (6, 3, _QUEEN),
        (7, 10, _ASANHA),
        (7, 28, _KING),
        (8, 11, _SPECIAL),
        (8, 12, _MOTHER),
        (10, 13, _BHUMIBOL),
        (10, 23, _CHULALONGKORN),
        (12, 5, _FATHER),
        (12, 10, _CONSTITUTION),
        (12, 31, _YEAR_END),
    ),
    2026: (
        (1, 1, _NEW_YEAR),
        (1, 2, _SPECIAL),
        (3, 3, _MAKHA),
        (4, 6, _CHAKRI),
        (4, 13, _SONGKRAN),
        (4, 14, _SONGKRAN),
        (4, 15, _SONGKRAN),
        (5, 1, _LABOUR),
        (5, 4, _CORONATION),
        (5, 31, _VISAKHA),
        (6, 1, _instead(_VISAKHA)),
        (6, 3, _QUEEN),
        (7, 28, _KING),
        (7, 29, _ASANHA),
        (8, 12, _MOTHER),
        (10, 13, _BHUMIBOL),
        (10, 23, _CHULALONGKORN),
        (12, 5, _FATHER),
        (12, 7, _instead(_FATHER)),
        (12, 10, _CONSTITUTION),
        (12, 31, _YEAR_END),
    ),
    2027: (
        (1, 1, _NEW_YEAR),
        (2, 21, _MAKHA),
        (2, 22, _instead(_MAKHA)),
        (4, 6, _CHAKRI),
        (4, 13, _SONGKRAN),
        (4, 14, _SONGKRAN),
        (4, 15, _SONGKRAN),
        (5, 1, _LABOUR),
        (5, 3, _instead(_LABOUR)),
        (5, 4, _CORONATION),
        (5, 20, _VISAKHA),
        (6, 3, _QUEEN),
        (7, 18, _ASANHA),
        (7, 19, _instead(_ASANHA)),
        (7, 28, _KING),
        (8, 12, _MOTHER),
        (10, 13, _BHUMIBOL),
        (10, 23, _CHULALONGKORN),
        (10, 25, _instead(_CHULALONGKORN)),
        (12, 5, _FATHER),
        (12, 6, _instead(_FATHER)),
        (12, 10, _CONSTITUTION),
        (12, 31, _YEAR_END),
    ),
}

YEARS: Final = frozenset(_DAYS)
HOLIDAYS: Final[dict[date, Text]] = {
    date(year, month, day): name for year, days in _DAYS.items() for month, day, name in days
}
