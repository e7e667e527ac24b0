"""Store first, claim, check: the bounded writer, the checker process and its supervisor."""
