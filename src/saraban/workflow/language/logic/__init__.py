"""
JSON Logic (jsonlogic.com) with JavaScript's coercions, compiled once and evaluated within bounds (REQ-WFL-06).

A rule is data: `compile` refuses what is too large or wrong and says where, `Compiled.evaluate` runs closures over
the facts within a budget of steps. Nothing here knows workflows, and nothing else is ever executed.

Where it differs from the reference implementation on purpose:

* an object has exactly one operator, and an operator the number of values it takes; both are refused when compiled;
* `var` finds keys, indexes and `length`, and no methods of JavaScript's prototypes;
* names that `missing` takes from the facts are names, never rules;
* texts are counted, cut and ordered by code points, not by UTF-16 units; integers beyond 2**53 stay exact in comparisons.
"""

from saraban.workflow.language.logic.budget import BudgetExceeded, Limits
from saraban.workflow.language.logic.coercion import truthy
from saraban.workflow.language.logic.compiler import Compiled, compile  # noqa: A004 - as the libraries of this language call it
from saraban.workflow.language.logic.grammar import RuleRefused

__all__ = ["BudgetExceeded", "Compiled", "Limits", "RuleRefused", "compile", "truthy"]
