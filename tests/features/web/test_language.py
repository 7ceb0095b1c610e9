"""Words and dates: every text of a page has its Thai, and both calendars are written as people write them."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import messages
import pytest
from babel.messages import Catalog

from saraban.web.shell import labels
from saraban.web.shell.document_kinds import BY_NAME, KINDS
from saraban.web.shell.page import catalogue, clock_text, day_text, environment, moment_text, size_text
from saraban.workflow.language.registers import REGISTERS

BANGKOK = ZoneInfo("Asia/Bangkok")


def plural(catalogue: Catalog) -> set[str]:
    return {one.id if isinstance(one.id, str) else one.id[0] for one in catalogue if one.id}


class TestEnvironment:
    def test_looks_a_text_up_when_its_template_is_compiled(self) -> None:
        source = '{% trans %}Menu{% endtrans %}{{ _("Close") }}{% trans name=x %}Account: {{ name }}{% endtrans %}'

        found = environment("th").compile(source, raw=True)

        assert "gettext" not in found
        assert "เมนู" in found

    def test_puts_values_into_it_as_text(self) -> None:
        page = environment("th").from_string("{% trans name=x %}Account: {{ name }}{% endtrans %}")

        assert page.render(x="<b>") == "บัญชีผู้ใช้: &lt;b&gt;"


class TestCatalogue:
    def test_translates_every_text_of_the_templates_and_keeps_none_that_is_gone(self) -> None:
        merged = messages.merged()

        assert messages.untranslated(merged) == []
        assert plural(messages.current()) == plural(merged), "run: python scripts/messages.py"

    def test_keeps_the_places_of_values(self) -> None:
        assert "%(count)s" in catalogue("th").ngettext("%(count)s unread", "%(count)s unread", 3)

    def test_has_thai_letters_where_a_word_is_not_a_name(self) -> None:
        bare = [
            text
            for text, said in catalogue("th").words.items()
            if not any("\u0e00" <= letter <= "\u0e7f" for letter in str(said))
        ]

        assert bare == []

    def test_has_one_word_for_what_is_in_force(self) -> None:
        said = {text: str(words) for text, words in catalogue("th").words.items()}

        assert said["Active"] == "ใช้งานอยู่"
        assert [text for text, words in said.items() if "มีผลใช้" in words] == []

    @pytest.mark.parametrize("kind", sorted(BY_NAME))
    def test_calls_a_register_what_its_faults_call_it(self, kind: str) -> None:
        assert BY_NAME[kind].plural.th == REGISTERS[kind].says.th

    @pytest.mark.parametrize("state", sorted({state for kind in KINDS.values() for state in kind.states}))
    def test_names_and_colours_every_state_of_a_register(self, state: str) -> None:
        assert state in labels.STATES


class TestDates:
    def test_are_in_the_buddhist_era_in_thai(self) -> None:
        assert day_text(date(2026, 11, 20), "th") == "20 พ.ย. 2569"

    def test_are_in_the_common_era_in_english(self) -> None:
        assert day_text(date(2026, 11, 20), "en") == "20 Nov 2026"

    def test_are_those_of_the_deployments_zone(self) -> None:
        moment = datetime(2026, 12, 31, 17, 5, tzinfo=UTC)

        assert moment_text(moment, "th", BANGKOK) == "1 ม.ค. 2570 00:05 น."
        assert moment_text(moment, "en", BANGKOK) == "1 Jan 2027 00:05"

    def test_can_stand_apart_from_the_hour(self) -> None:
        moment = datetime(2026, 12, 31, 17, 5, tzinfo=UTC)

        assert (clock_text(moment, "th", BANGKOK), clock_text(moment, "en", BANGKOK)) == ("00:05 น.", "00:05")

    def test_show_a_dash_for_none(self) -> None:
        assert day_text(None, "th") == "–"


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (900, "900 B"), (1536, "1.5 KB"), (52_428_800, "50 MB")])
def test_sizes_are_short(size: int, text: str) -> None:
    assert size_text(size) == text


def test_an_action_that_nobody_named_shows_its_code() -> None:
    assert labels.action("correspondence.create").en == "Created"
    assert labels.action("stamp-and-seal").th == "stamp-and-seal"
