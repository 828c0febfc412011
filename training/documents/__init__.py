"""Training of the classifiers of document pairs."""
