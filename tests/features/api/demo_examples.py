"""
The description of the API with the demo project's own values as examples: ids that are there, documents of the caller's.

What is generated from such a description reaches behind the checks of its ids.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from saraban.ops.openapi import operations

API = "/api/v1"
JSON = "application/json"
OK, MADE = 200, {200, 201}
DRAFTS = ("/correspondences", "/rfas", "/transmittals", "/circulations")
WORKFLOW: dict[str, Any] = {"code": "CORRESPONDENCE_FLOW_V1", "version": 1, "before": 1, "after": 1}
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"


@dataclass
class Values:
    """
    :param of_all: by the name of a field or parameter
    :param of_path: the same for the operations of one address
    """

    of_all: dict[str, Any]
    of_path: dict[str, dict[str, Any]] = field(default_factory=dict)

    def at(self, path: str) -> dict[str, Any]:
        return self.of_all | self.of_path.get(path, {})


def filled(document: Mapping[str, Any], values: Values) -> dict[str, Any]:
    """Give the description with these examples."""
    told: dict[str, Any] = deepcopy(dict(document))
    for schema in told["components"]["schemas"].values():
        for name, described in schema.get("properties", {}).items():
            if name in values.of_all:
                described["examples"] = [values.of_all[name]]
    for path, _, operation in operations(told):
        known = values.at(path)
        for parameter in operation.get("parameters", []):
            if parameter["in"] != "header" and parameter["name"] in known:
                parameter["example"] = known[parameter["name"]]
        body = operation.get("requestBody", {}).get("content", {}).get(JSON, {})
        if "example" in body:
            body["example"] = replaced(body["example"], known)
    return told


def replaced(value: Any, known: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {name: known[name] if name in known else replaced(one, known) for name, one in value.items()}
    return [replaced(one, known) for one in value] if isinstance(value, list) else value


@dataclass
class Demo:
    """A caller in the demo project, who looks values up and writes what there is to be changed."""

    client: Any
    document: Mapping[str, Any]
    values: Values = field(default_factory=lambda: Values({}))

    def read(self, path: str, **query: str) -> dict[str, Any]:
        answer = self.client.get(API + path, params=query)
        return answer.json() if answer.status_code == OK else {}

    def first(self, path: str, **query: str) -> dict[str, Any]:
        """The first of a list, without the envelope of workflows."""
        items = self.read(path, **query).get("items") or [{}]
        return items[0].get("data", items[0])  # type: ignore[no-any-return]

    def make(self, path: str, **changes: Any) -> dict[str, Any]:
        """What the example of an operation makes with the values that are known; nothing where the caller may not."""
        body = self.document["paths"][API + path]["post"]["requestBody"]["content"][JSON]["example"]
        answer = self.client.post(API + path, json=replaced(body, self.values.at(API + path)) | changes)
        return answer.json() if answer.status_code in MADE else {}

    def know(self) -> Values:
        self.values = Values(self._everywhere())
        instances = [made["workflow"]["instancePublicId"] for path in DRAFTS if (made := self.make(path))]
        known = {
            "/workflow/instances": instances[:1],
            "/webhooks": [self.make("/notifications/webhooks").get("publicId")],
            "/attachments": [self._file()],
            "/users": [self.make("/users").get("publicId")],
            "/projects": [self.values.of_all["projectPublicId"]],
        }
        self.make("/delegations")
        self.make("/document-numbering/ranges")
        for path in {path.removeprefix(API) for path in self.document["paths"] if "/{publicId}" in path}:
            base = path.partition("/{publicId}")[0]
            if base not in known:
                project = self.values.of_all["projectPublicId"]
                found = self.first(base) or self.first(base, projectPublicId=project)
                known[base] = [found.get("publicId")]
            if any(known[base]):
                self.values.of_path[API + path] = {"publicId": known[base][0]}
        self._numbers()
        return self.values

    def _everywhere(self) -> dict[str, Any]:
        me = self.read("/auth/me")
        project = self.first("/projects", search="LCBP3-C2")
        detail = self.read(f"/projects/{project['publicId']}")
        other = next(one for one in detail["organizations"] if one["organizationCode"] == "คคง.")
        letter = self.first("/correspondences")
        return {
            **WORKFLOW,
            "projectPublicId": project["publicId"],
            "contractPublicId": detail["contracts"][0]["publicId"],
            "originatorOrganizationPublicId": me["organization"]["publicId"],
            "recipientOrganizationPublicId": other["publicId"],
            "organizationPublicId": other["publicId"],
            "userPublicId": me["publicId"],
            "delegatePublicId": self.first("/delegations/colleagues").get("publicId", me["publicId"]),
            "documentPublicId": self.first("/rfas", status="approved")["publicId"],
            "correspondencePublicId": letter["publicId"],
            "number": letter["documentNumber"],
            "series": self.first("/document-numbering/series", projectPublicId=project["publicId"]).get("series", "-"),
            "startsOn": "2099-01-04",
            "endsOn": "2099-01-09",
            "dueDate": "2099-01-09",
            "deadlineDate": "2099-01-09",
        }

    def _file(self) -> str:
        answer = self.client.post(f"{API}/attachments", files={"file": ("a.pdf", PDF, "application/pdf")})
        return str(answer.json()["publicId"])

    def _numbers(self) -> None:
        numbering = "/document-numbering"
        for path in ("/void", "/void-and-replace"):
            self.values.of_path[API + numbering + path] = {
                "publicId": self.make(f"{numbering}/generate").get("publicId")
            }
        for path in ("/confirm", "/cancel"):
            token = self.make(f"{numbering}/reserve").get("reservationToken")
            self.values.of_path[API + numbering + path] = {"reservationToken": token}
