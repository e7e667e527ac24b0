"""Sentences: how constraints are written in English, and read back."""
