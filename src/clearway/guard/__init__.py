"""What an agent may touch: read from what its client is about to do, and decided in one place."""
