"""The benchmarks that are installed with Meantime: running them, their tables and their figures."""
