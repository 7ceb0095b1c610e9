"""Issue numbers: plan, allocate, reserve, state by hand; and what happens to a number afterwards."""
