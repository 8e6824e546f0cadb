import Testing

/// Tests with real processes, several at a time. Each test has its own ports, displays, networks and folders.
@Suite(.inTurns)
enum EndToEnd {}
