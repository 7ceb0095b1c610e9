"""Files that are uploaded, checked by a worker, and imported once somebody says so; what a file means is left to the rooms above."""
