"""Workers that benchmarks run as processes; each prints a JSON object."""
