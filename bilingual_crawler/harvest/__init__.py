"""The benchmark of policies: how early each finds the gold pairs of archived sites."""
