"""An upgrade lets registers that counted all letters go on to count I and O, also when it was killed before (0083)."""

from importlib import util
from pathlib import Path


def test_an_upgrade_keeps_all_letters_and_a_downgrade_writes_what_was_read_before() -> None:
    (path,) = (Path(__file__).parents[3] / "migrations" / "versions").glob("*_letters_and_organizations.py")
    spec = util.spec_from_file_location("letters_and_organizations", path)
    assert spec is not None
    assert spec.loader is not None
    migration = util.module_from_spec(spec)
    spec.loader.exec_module(migration)

    upgraded = {scheme: migration.rewritten(scheme, *migration.UP) for scheme in ("A", "0", "P01, C01", "C, 0", "A-Z")}
    former = {scheme: migration.rewritten(scheme, *migration.DOWN) for scheme in ("A-Z, 0", "P01.01, C01", "A-HJ-NP-Z")}

    assert upgraded == {"A": "A-Z", "0": "0", "P01, C01": "P01, C01", "C, 0": "C-Z, 0", "A-Z": "A-Z"}
    assert former == {"A-Z, 0": "A, 0", "P01.01, C01": "P01, C01", "A-HJ-NP-Z": "A"}
