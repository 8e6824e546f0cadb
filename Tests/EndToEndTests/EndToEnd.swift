import Testing

/// Everything with real processes, one test after the other: they would take each other's processor time.
@Suite(.serialized)
enum EndToEnd {}
