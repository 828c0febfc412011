"""From public corpora to the lists that training reads: `python -m training.prepare language|pairs|split`."""
