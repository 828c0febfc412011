"""Several processes on one machine that crawl together: their Redis, their folders, one output folder at the end.

``run.py`` starts and watches them and their Redis, ``processes.py`` holds one worker, ``outputs.py`` joins what the
workers have written. Nothing here is public API.
"""
