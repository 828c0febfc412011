"""A URL as text: its canonical form, its parts, its language marks, its model input. Nothing here fetches a URL."""
