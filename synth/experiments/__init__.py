"""Agents driven through cases, and what is counted of that."""
