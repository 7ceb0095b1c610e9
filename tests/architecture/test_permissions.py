"""
Which function asks for each permission: one that nobody asks for decides about nothing, and has no place in the catalogue.

What is asked for by data (a kind of documents, a workflow that ships) has the function that reads the data, and the data.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import saraban
from saraban.documents.correspondence import CORRESPONDENCE
from saraban.documents.rfa.service import RFA
from saraban.documents.transmittal.service import TRANSMITTAL
from saraban.identity.domain.catalogue import MODULES, PERMISSIONS
from saraban.numbering.issue.service import number_request
from saraban.setup.domain.master_kinds import KINDS
from saraban.web.shell.administration import GROUPS

SOURCE = Path(saraban.__file__).parent

# Permission -> module and function, then what stands there for it.
GUARDS = {
    "system.manage_all": ("identity.domain.context:Grant.gives", "EVERYTHING"),
    "system.view_logs": ("ops.event_endpoints:listing", "SEES"),
    "audit.view_all": ("ops.audit_trail:sees_all", "SEES_ALL"),
    "audit.view_own": ("ops.audit_trail:may_read", "SEES_OWN"),
    "organization.view": ("identity.service.callers:list_organizations", '"organization.view"'),
    "user.view": ("identity.service.people:open_sessions", "VIEW"),
    "user.create": ("identity.service.accounts:_new_user", "CREATE"),
    "user.edit": ("identity.service.accounts:set_active", '"user.edit"'),
    "user.delete": ("identity.service.accounts:set_active", '"user.delete"'),
    "user.manage_assignments": ("identity.service.assignments:require_no_more_than_own", '"user.manage_assignments"'),
    "role.create": ("identity.service.roles:create_role", '"role.create"'),
    "role.view": ("identity.service.roles:_require_reader", "_READERS[0]"),
    "role.edit": ("identity.service.roles:change_role", '"role.edit"'),
    "role.delete": ("identity.service.roles:set_role_open", '"role.delete"'),
    "role.assign_permissions": ("identity.service.roles:change_role", '"role.assign_permissions"'),
    "project.create": ("setup.service.new_project:new_project", "CREATE"),
    "project.edit": ("projects.service.projects:lock_managed_project", "MANAGE"),
    "document.view": ("documents.core.domain:reach_of", "VIEW"),
    "document.edit": ("workflow.engine.decisions:obstacle", "require.permissions"),
    "document.admin_edit": ("documents.core.service.drafts:require_withdraw", "ADMIN_EDIT"),
    "document.attach_files": ("attachments.endpoints:upload", '"document.attach_files"'),
    "correspondence.create": ("documents.core.service.drafts:require_create", "rules.create"),
    "correspondence.edit": ("documents.core.service.drafts:require_edit", "rules.edit"),
    "correspondence.submit": ("workflow.engine.decisions:obstacle", "require.permissions"),
    "rfa.create": ("documents.core.service.drafts:require_create", "rules.create"),
    "rfa.edit": ("documents.core.service.drafts:require_edit", "rules.edit"),
    "rfa.submit": ("workflow.engine.decisions:obstacle", "require.permissions"),
    "drawing.create": ("numbering.issue.service.number_request:permission_to_create", "_CREATES"),
    "drawing.manage_revisions": ("workflow.engine.decisions:obstacle", "require.permissions"),
    "circulation.create": ("documents.circulation.service.kind:CirculationKind.require_edit", "domain.CREATE"),
    "circulation.view": ("documents.circulation.domain:reach_of", "VIEW"),
    "circulation.respond": ("documents.circulation.domain:rights_to_answer", "RESPOND"),
    "circulation.acknowledge": ("documents.circulation.domain:rights_to_answer", "ACKNOWLEDGE"),
    "circulation.close": ("documents.circulation.service.kind:CirculationKind.check_cancel", "domain.CLOSE"),
    "transmittal.create": ("documents.core.service.drafts:require_create", "rules.create"),
    "transmittal.edit": ("documents.core.service.drafts:require_edit", "rules.edit"),
    "workflow.view_definitions": ("workflow.administration.endpoints:list_definitions", "MAY_VIEW"),
    "workflow.manage_definitions": ("workflow.administration.service.workflow_assignment:may_assign", "MANAGE"),
    "workflow.action_review": ("workflow.engine.decisions:obstacle", "require.permissions"),
    "workflow.force_proceed": ("workflow.runtime.domain.interventions:_can_intervene", "PERMISSION"),
    "numbering.view_formats": ("numbering.formats.service:list_formats", "VIEW"),
    "numbering.manage_formats": ("numbering.formats.service:delete_format", "MANAGE"),
    "numbering.override": ("numbering.issue.service.lifecycle:voidable", "OVERRIDE"),
    "numbering.view_counters": ("numbering.register.service.ledger:viewed_register", "VIEW_COUNTERS"),
    "numbering.reset_counter": ("numbering.issue.service.manual_number:may_reset_counter", "RESET_COUNTER"),
}
MASTER_DATA = "setup.service.master_data"
GUARDS |= {
    "project.manage_members": ("setup.service.members:_require_manager", "OF_PROJECT"),
    "contract.manage_members": ("setup.service.members:_require_manager", "OF_CONTRACT"),
    **{f"{thing}.create": (f"{MASTER_DATA}:create", "kind.create") for thing in ("organization", "contract")},
    **{f"{thing}.edit": (f"{MASTER_DATA}:change", "kind.change") for thing in ("organization", "contract")},
    **{
        f"{thing}.delete": (f"{MASTER_DATA}:set_active", "kind.close")
        for thing in ("organization", "project", "contract")
    },
    **{
        f"master_data.{thing}.manage": (f"{MASTER_DATA}:change", "kind.change")
        for thing in ("correspondence_type", "document_status", "drawing_category", "tag", "discipline")
    },
}


def test_each_permission_of_the_catalogue_has_its_guard() -> None:
    known = {offer.name for offer in PERMISSIONS}

    assert GUARDS.keys() == known
    assert {offer.module for offer in PERMISSIONS} == MODULES.keys()


def test_the_menu_asks_for_what_there_is() -> None:
    asked = {name for group in GROUPS for page in group.pages for name in page.permissions}

    assert asked <= GUARDS.keys()


@pytest.mark.parametrize(("permission", "guard"), GUARDS.items(), ids=GUARDS)
def test_the_guard_asks_for_it(permission: str, guard: tuple[str, str]) -> None:
    place, expression = guard
    module, _, name = place.partition(":")
    function = _functions(module).get(name)
    assert function is not None, f"{place} is gone: who asks for {permission} now?"
    asked = {ast.unparse(node) for node in ast.walk(function) if isinstance(node, ast.expr)}
    assert expression.replace('"', "'") in asked, f"{place} asks for it no more"

    assert permission in _meant(module, expression)


def _meant(module: str, expression: str) -> set[str]:
    """Return the permissions for which an expression of a guard stands."""
    if expression == "require.permissions":
        shipped = SOURCE.glob("workflow/language/shipped/*.json")
        return {name for path in shipped for name in re.findall(r'"([^"]*)"', path.read_text("utf-8"))} | {
            "document.edit"  # of a subject that names no other
        }
    if expression.startswith("kind."):
        return {getattr(kind, expression.removeprefix("kind.")) for kind in KINDS}
    if expression == "_CREATES":
        return set(number_request._CREATES.values())
    if expression.startswith("rules."):
        kinds = (CORRESPONDENCE, RFA, TRANSMITTAL)
        return {getattr(kind.rules, expression.removeprefix("rules.")) for kind in kinds}
    return {eval(expression, vars(import_module(f"saraban.{module}")))}


@cache
def _functions(module: str) -> dict[str, ast.AST]:
    path = SOURCE.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return dict(_named(ast.parse(path.read_text("utf-8")), ""))


def _named(tree: Any, prefix: str) -> Iterator[tuple[str, ast.AST]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _named(node, f"{node.name}.")
