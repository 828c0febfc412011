"""Helper processes that parse content from the web, with limits of time and memory. The room imports no other room."""
