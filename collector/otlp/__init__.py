"""OTLP in: bytes to durable spans. The only place of the collector that knows protobuf and gRPC."""
