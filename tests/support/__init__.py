"""What tests and benchmarks share: servers, sites, processes, data."""
