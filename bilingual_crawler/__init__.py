"""A focused crawler that finds parallel documents early."""
