import BeamClock
import BeamMedia
import Foundation
import Synchronization

@testable import BeamHost

/// Keeps every frame.
final class CollectingSink: FrameSink {
    private let kept = Mutex<[AccessUnit]>([])

    var units: [AccessUnit] { kept.withLock { $0 } }

    func open() {}
    func push(_ unit: AccessUnit) { kept.withLock { $0.append(unit) } }
    func close() {}
}

struct Hang: Error {}

/// Waits until something is so; a hang is a failure.
func eventually(_ isSo: () throws -> Bool) async throws {
    for _ in 0..<3000 {
        if try isSo() { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    throw Hang()
}
