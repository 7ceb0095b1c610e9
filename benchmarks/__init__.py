"""What the product does in a second, beside what others do with the same servers in the same run; see docs/benchmarks.md."""
