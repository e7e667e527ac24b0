"""Who hears of a verdict: webhooks and OpenTelemetry events."""
