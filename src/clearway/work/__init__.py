"""What is to be done, and who is at it."""
