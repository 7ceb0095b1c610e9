"""`saraban role …` and `saraban user why`, on the demo."""

from tests.features.cli.conftest import Command

COPY = ("role", "copy", "Contract Admin", "ผู้ตรวจแบบ", "--english", "Drawing checker", "--project", "LCBP3-C2")


class TestRole:
    def test_is_copied_changed_closed_and_reopened(self, command: Command) -> None:
        assert command(*COPY)[:2] == (0, "The role ผู้ตรวจแบบ is there.\n")
        assert command("role", "deny", "ผู้ตรวจแบบ", "contract.edit")[0] == 0
        assert command("role", "allow", "ผู้ตรวจแบบ", "document.admin_edit")[0] == 0

        shown = command("role", "show", "ผู้ตรวจแบบ")[1]
        assert "workflow.action_review" in shown
        assert "document.admin_edit" in shown
        assert "contract.edit" not in shown
        assert command("role", "close", "ผู้ตรวจแบบ")[0] == 0
        assert "closed" in command("role", "list")[1]
        assert command("role", "reopen", "ผู้ตรวจแบบ")[0] == 0
        assert "closed" not in command("role", "list")[1]

    def test_that_shipped_or_is_unknown_is_refused_in_one_line(self, command: Command) -> None:
        shipped, unknown = command("role", "deny", "Viewer", "document.view"), command("role", "close", "Nobody's")

        assert (shipped[0], unknown[0]) == (6, 5)
        assert shipped[2] == "saraban: A shipped role cannot be changed.\n"


class TestWhy:
    def test_names_the_role_or_who_can_give_it(self, command: Command) -> None:
        asked = ("contract.edit", "--project", "LCBP3-C2")

        assert command("user", "why", "padmin", *asked)[1].splitlines() == [
            "yes: Allowed, because of this role.",
            "  Project Manager · Project LCBP3-C2",
        ]
        refused = command("user", "why", "viewer", *asked)
        assert refused[0] == 0
        assert refused[1].splitlines() == [
            "no: No role of theirs gives this permission.",
            "  missing: contract.edit",
            "  roles that give it: Project Manager (Project LCBP3-C2)",
            "  who can give it: ปกรณ์ คุมโครงการ, อารีย์ ดูแลระบบ",
        ]

    def test_asks_about_nobody_and_about_no_document(self, command: Command) -> None:
        assert command("user", "why", "nobody", "contract.edit")[0] == 5
        assert command("user", "why", "viewer", "view", "--document", "ไม่มี-1")[0] == 5
