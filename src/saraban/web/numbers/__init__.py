"""Pages of the number register: series, single numbers, formats, ranges, imports and what administrators do."""
