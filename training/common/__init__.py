"""What the trainings of several models share."""
