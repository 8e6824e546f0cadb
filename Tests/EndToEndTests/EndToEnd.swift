import Testing

/// Everything with real processes, several tests at a time. Ports, displays, networks and folders are each test's own.
@Suite(.inTurns)
enum EndToEnd {}
