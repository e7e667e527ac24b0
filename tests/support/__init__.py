"""What the tests of several parts share: builders, servers, sinks, scripted models, a browser."""
