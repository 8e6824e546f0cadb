import BeamMedia
import Synchronization

/// Changes that were dropped unread: all of their host's picture may have changed up to the last one's time.
struct DroppedChanges: Hashable, Sendable {
    var session: MediaTime
    var pictureSize: PixelSize
    /// In µs of the host's clock.
    var time: UInt64

    /// - Parameter earlier: what was dropped before.
    /// - Returns: `earlier` if it is a repair: that is asked for again anyway.
    static func adding(_ patch: ReceivedPatch, to earlier: DroppedChanges?) -> DroppedChanges? {
        guard !patch.isRepair else { return earlier }
        var all = DroppedChanges(session: patch.session, pictureSize: patch.pictureSize, time: patch.hostTime)
        if let earlier, earlier.session == all.session, earlier.pictureSize == all.pictureSize {
            all.time = max(all.time, earlier.time)
        }
        return all
    }
}

/// Patches and hashes on their way from the network to the window.
final class PatchBox: ViewerSink {
    /// More than these are dropped, the oldest first: the window doesn't draw. When it does, it asks for what it lacks.
    private static let most = 256
    private static let mostBytes = 4 << 20
    /// The same of hashes: those of the largest picture.
    private static let mostHashes = 80

    private struct Waiting {
        var patches: [ReceivedPatch] = []
        var bytes = 0
        var dropped: DroppedChanges?
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
                let first = waiting.patches.removeFirst()
                waiting.bytes -= first.content.count
                waiting.dropped = .adding(first, to: waiting.dropped)
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

    /// Those that wait, and what was dropped before them.
    func takeAll() -> (patches: [ReceivedPatch], dropped: DroppedChanges?) {
        waiting.withLock { waiting in
            defer { (waiting.patches, waiting.bytes, waiting.dropped) = ([], 0, nil) }
            return (waiting.patches, waiting.dropped)
        }
    }

    /// How many have arrived.
    var total: UInt64 { waiting.withLock { $0.total } }
}
