"""What the benchmarks run in processes of their own: each prints a JSON object."""
