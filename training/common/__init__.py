"""Code that the trainings of several models share."""
