"""Speed and quality, side by side with what others do; see docs/benchmarks.md."""
