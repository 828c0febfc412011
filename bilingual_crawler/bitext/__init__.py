"""From document pairs to sentence pairs and the files of other tools."""
