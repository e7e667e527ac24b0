"""What a language model writes for us; never trusted, always checked."""
