"""Works out the routes of the application once, in the process from which the tests' servers are forked."""

import gc
from pathlib import Path

from saraban.app import create_app
from saraban.config import Settings
from saraban.ops import route_index
from tests.computed_once import one_table_of_routes

_table = one_table_of_routes()
_table.__enter__()
route_index.build_index(create_app(Settings(env="test", data_dir=Path())).routes)
gc.freeze()
