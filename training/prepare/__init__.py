"""Make training lists from public corpora: `python -m training.prepare language|pairs|split`."""
