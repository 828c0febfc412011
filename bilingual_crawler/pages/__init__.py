"""Parse a page once, in the helper processes of ``sandbox``: its text, links with evidence, language, outline."""
