"""What a rebuilt run is judged by, and what comes of it."""
