"""Tokens of number templates."""

PROJECT = "PROJECT"
ORIGINATOR = "ORIGINATOR"
RECIPIENT = "RECIPIENT"
CORR_TYPE = "CORR_TYPE"
SUB_TYPE = "SUB_TYPE"
RFA_TYPE = "RFA_TYPE"
DISCIPLINE = "DISCIPLINE"
CATEGORY = "CATEGORY"
SEQ = "SEQ"
REV = "REV"
YEAR_BE = "YEAR:B.E."
YEAR_AD = "YEAR:A.D."
YY_BE = "YY:B.E."
YY_AD = "YY:A.D."
MONTH = "MM"
FISCAL_BE = "FY:B.E."
# Placeholder of each in the name of a series that continues across periods.
PERIODS = {
    YEAR_BE: "{YEAR}",
    YEAR_AD: "{YEAR}",
    YY_BE: "{YY}",
    YY_AD: "{YY}",
    MONTH: "{MM}",
    FISCAL_BE: "{FY}",
}
VALUES = frozenset({PROJECT, ORIGINATOR, RECIPIENT, CORR_TYPE, SUB_TYPE, RFA_TYPE, DISCIPLINE, CATEGORY})
KNOWN = VALUES | PERIODS.keys() | {REV}
