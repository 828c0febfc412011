"""Several processes on one machine that crawl together: their Redis, their folders, one output folder at the end."""
