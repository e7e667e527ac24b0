"""Import this and the agent frameworks of the program are traced."""
