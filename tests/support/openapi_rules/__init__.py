"""What the OpenAPI Specification and RFC 6570 say about requests, to compare it with what toolc sends."""
