"""Training of the pair model: data, negatives, network, evaluation sets, baselines and studies."""
