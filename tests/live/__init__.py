"""What users paste, and what must be read from it."""
