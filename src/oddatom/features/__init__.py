"""Feature maps and scaling."""
