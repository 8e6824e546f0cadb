import BeamMedia
import Synchronization

/// Patches and hashes on their way from the network to the window.
final class PatchBox: ViewerSink {
    /// More than these are dropped, the oldest first: the window doesn't draw, and asks for what it lacks later.
    private static let most = 256
    private static let mostBytes = 4 << 20
    /// The same of hashes: those of the largest picture.
    private static let mostHashes = 80

    private struct Waiting {
        var patches: [ReceivedPatch] = []
        var bytes = 0
        var total: UInt64 = 0
        var hashes: [ReceivedHashes] = []
    }

    private let waiting = Mutex(Waiting())
    private let shared: ViewerState

    init(_ shared: ViewerState) { self.shared = shared }

    func open() {}

    func push(_ patch: ReceivedPatch) {
        waiting.withLock { waiting in
            waiting.total += 1
            waiting.patches.append(patch)
            waiting.bytes += patch.content.count
            while waiting.patches.count > Self.most || waiting.bytes > Self.mostBytes {
                waiting.bytes -= waiting.patches.removeFirst().content.count
            }
        }
        shared.patchArrived()
    }

    func push(_ hashes: ReceivedHashes) {
        waiting.withLock { waiting in
            waiting.hashes.append(hashes)
            if waiting.hashes.count > Self.mostHashes { waiting.hashes.removeFirst() }
        }
        shared.patchArrived()
    }

    func close() {}

    func takeHashes() -> [ReceivedHashes] {
        waiting.withLock { waiting in
            defer { waiting.hashes = [] }
            return waiting.hashes
        }
    }

    func takeAll() -> [ReceivedPatch] {
        waiting.withLock { waiting in
            defer { (waiting.patches, waiting.bytes) = ([], 0) }
            return waiting.patches
        }
    }

    /// How many have arrived.
    var total: UInt64 { waiting.withLock { $0.total } }
}
