"""Previews of the first numbers and statuses of a project."""

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
    """The first number of a format; without a type, of the default format."""

    type_code: str | None
    narrowing: Narrowing
    number: str


@dataclass(frozen=True, slots=True)
class WorkflowSteps:
    kind: str
    says: Text
    steps: Sequence[Text]


@dataclass(frozen=True, slots=True)
class ProjectPreview:
    name: str
    says: Text
    counts: Mapping[str, int]
    numbers: Sequence[SampleNumber]
    workflows: Sequence[WorkflowSteps]


@cache
def previews() -> tuple[ProjectPreview, ...]:
    data = {"numberFormats": [{"type": code, "template": text} for code, (text, _) in SHIPPED.items()]}
    empty_project = _preview("", Text("โครงการว่าง", "Empty project"), data)
    return (empty_project, *(_preview(name, _TITLES[name], plain_data(template(name))) for name in TEMPLATES))


def _preview(name: str, says: Text, data: Data) -> ProjectPreview:
    contracts = data.get("contracts") or ()
    lists = ("disciplines", "rfaTypes", "subTypes")
    counts = {name: sum(len(contract.get(name) or ()) for contract in contracts) for name in lists}
    return ProjectPreview(
        name,
        says,
        {"contracts": len(contracts), **counts},
        [_sample_number(data, number_format) for number_format in data["numberFormats"]],
        _workflow_steps(data),
    )


def _sample_number(data: Data, form: Data) -> SampleNumber:
    narrowing = Narrowing(*(form.get(key) or "" for key in ("subType", "rfaType", "discipline")))
    template = Template.parse(form["template"], drawing=True)
    values = {token: sample for token, (_, sample) in TOKEN_MEANINGS.items()} | _sample_codes(data, form)
    return SampleNumber(form.get("type"), narrowing, template.render(values, sequence=1, revision="A"))


def _sample_codes(data: Data, form: Data) -> dict[str, str]:
    """Return the first codes in the lists of the template."""
    kind = form.get("type") or "LETTER"
    members = {member["role"]: member["organization"] for member in data.get("members") or ()}
    contract: Data = next(iter(data.get("contracts") or ()), {})
    sub_types = [sub_type["number"] for sub_type in contract.get("subTypes") or () if sub_type["type"] == kind]
    codes = {
        tokens.PROJECT: data.get("project", {}).get("code"),
        tokens.ORIGINATOR: members.get("CONTRACTOR"),
        tokens.RECIPIENT: members.get("CONSULTANT"),
        tokens.CORR_TYPE: kind,
        tokens.SUB_TYPE: next(iter(sub_types), None),
        tokens.RFA_TYPE: form.get("rfaType") or _first_code(contract, "rfaTypes"),
        tokens.DISCIPLINE: form.get("discipline") or _first_code(contract, "disciplines"),
    }
    return {token: code for token, code in codes.items() if code}


def _first_code(contract: Data, section: str) -> str | None:
    return next((item["code"] for item in contract.get(section) or ()), None)


def _workflow_steps(data: Data) -> list[WorkflowSteps]:
    assigned = {row["kind"].lower(): row["workflow"] for row in data.get("assignments") or () if not row.get("type")}
    shipped = {str(raw["workflow"]): raw for raw in workflow.shipped()}
    workflows = []
    for kind, register in REGISTERS.items():
        definition = dsl.read(shipped[assigned.get(kind, register.code)])
        path = (definition.states[definition.initial], *expected_path(definition, definition.initial))
        workflows.append(WorkflowSteps(kind, register.says, [state.label for state in path]))
    return workflows
