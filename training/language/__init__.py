"""Training of the language model, its baselines and its comparison with them."""
