"""The web pages: server-rendered, no script needed to read them, nothing loaded from elsewhere."""
