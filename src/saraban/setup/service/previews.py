"""What a project would begin with: its first numbers and the statuses its documents go through, before it is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from saraban.kit.errors import Text
from saraban.numbering.formats.domain import SHIPPED, TOKEN_MEANINGS
from saraban.numbering.series.domain import tokens
from saraban.numbering.series.domain.template import Narrowing, Template
from saraban.setup.domain.new_project import Data
from saraban.setup.domain.project_yaml import plain_data
from saraban.setup.service.project_files import TEMPLATES, template
from saraban.workflow import service as workflow
from saraban.workflow.engine.decisions import expected_path
from saraban.workflow.language import dsl
from saraban.workflow.language.registers import REGISTERS

_TITLES = {
    "thai-public-works": Text("โครงการก่อสร้างภาครัฐ", "Thai public works"),
    "building": Text("อาคารเอกชน", "Private building"),
    "iso19650": Text("ตั้งชื่อเอกสารตาม ISO 19650", "Names after ISO 19650"),
}


@dataclass(frozen=True, slots=True)
class SampleNumber:
    """The first number of the documents that a format is for; no type stands for all the others."""

    type_code: str | None
    narrowing: Narrowing
    number: str


@dataclass(frozen=True, slots=True)
class WorkflowSteps:
    """The statuses of the documents of a kind when everything goes well."""

    kind: str
    says: Text
    steps: Sequence[Text]


@dataclass(frozen=True, slots=True)
class ProjectPreview:
    """:param name: of a template; empty for a project without one"""

    name: str
    says: Text
    counts: Mapping[str, int]
    numbers: Sequence[SampleNumber]
    workflows: Sequence[WorkflowSteps]


@cache
def previews() -> tuple[ProjectPreview, ...]:
    """Return what an empty project and each template begin with, as they ship."""
    empty = {"numberFormats": [{"type": code, "template": text} for code, (text, _) in SHIPPED.items()]}
    nothing = _preview("", Text("โครงการว่าง", "Empty project"), empty)
    return (nothing, *(_preview(name, _TITLES[name], plain_data(template(name))) for name in TEMPLATES))


def _preview(name: str, says: Text, data: Data) -> ProjectPreview:
    contracts = data.get("contracts") or ()
    counts = {key: sum(len(one.get(key) or ()) for one in contracts) for key in ("disciplines", "rfaTypes", "subTypes")}
    return ProjectPreview(
        name,
        says,
        {"contracts": len(contracts), **counts},
        [_sample(data, one) for one in data["numberFormats"]],
        _workflows(data),
    )


def _sample(data: Data, form: Data) -> SampleNumber:
    narrowing = Narrowing(*(form.get(key) or "" for key in ("subType", "rfaType", "discipline")))
    read = Template.parse(form["template"], drawing=True)
    values = {token: sample for token, (_, sample) in TOKEN_MEANINGS.items()} | _codes(data, form)
    return SampleNumber(form.get("type"), narrowing, read.render(values, sequence=1, revision="A"))


def _codes(data: Data, form: Data) -> dict[str, str]:
    """The codes of the template itself, as far as it has them: the first ones of its lists."""
    kind = form.get("type") or "LETTER"
    members = {one["role"]: one["organization"] for one in data.get("members") or ()}
    contract: Data = next(iter(data.get("contracts") or ()), {})
    sub_types = [one["number"] for one in contract.get("subTypes") or () if one["type"] == kind]
    found = {
        tokens.PROJECT: data.get("project", {}).get("code"),
        tokens.ORIGINATOR: members.get("CONTRACTOR"),
        tokens.RECIPIENT: members.get("CONSULTANT"),
        tokens.CORR_TYPE: kind,
        tokens.SUB_TYPE: next(iter(sub_types), None),
        tokens.RFA_TYPE: form.get("rfaType") or _first_code(contract, "rfaTypes"),
        tokens.DISCIPLINE: form.get("discipline") or _first_code(contract, "disciplines"),
    }
    return {token: code for token, code in found.items() if code}


def _first_code(contract: Data, section: str) -> str | None:
    return next((one["code"] for one in contract.get(section) or ()), None)


def _workflows(data: Data) -> list[WorkflowSteps]:
    assigned = {one["kind"].lower(): one["workflow"] for one in data.get("assignments") or () if not one.get("type")}
    shipped = {str(raw["workflow"]): raw for raw in workflow.shipped()}
    found = []
    for kind, register in REGISTERS.items():
        definition = dsl.read(shipped[assigned.get(kind, register.code)])
        path = (definition.states[definition.initial], *expected_path(definition, definition.initial))
        found.append(WorkflowSteps(kind, register.says, [state.label for state in path]))
    return found
