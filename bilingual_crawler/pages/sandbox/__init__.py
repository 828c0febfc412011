"""Helper processes that parse content from the web; each job has a limit of time and memory.

- ``jobs``: what a job is, its limits and its errors.
- ``pool``: start helpers and send them jobs.
- ``helper``: the program of a helper.

The room imports no other room.
"""
