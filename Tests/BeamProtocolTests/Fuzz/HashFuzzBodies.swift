import BeamMedia

@testable import BeamSession
@testable import BeamWire

extension FuzzBodies {
    /// States from a host that tells any hashes: u8 length, then that many bytes, for each; length 0 is a change of the screen,
    /// which is shown exactly. What a viewer compares are rows of its picture, it asks seldom, and a host that is never right
    /// isn't asked for ever.
    static func hashes(_ bytes: [UInt8]) -> String? {
        let size = PixelSize(width: 100, height: 70)
        var now = MediaTime.at(1)
        var (map, check, time) = (ExactMap(size, now: now), ExactCheck(), UInt64(100))
        func show() {
            _ = map.take(PatchPlan(rects: [PixelRect(size)]), capturedAt: time, isLast: true, now: now)
        }
        _ = map.take(.all(of: size, at: time), now: now)
        show()
        var (requests, refutations) = (0, 0)
        var lastAsked: MediaTime?
        var rest = bytes[...]
        while let length = rest.popFirst() {
            // 0 to 6.3 s.
            now = now + .milliseconds(100 * Int64(length & 63))
            if length == 0 {
                (time, requests) = (time + 10, 0)
                show()
            }
            if check.takeRequest(map, now: now) {
                if let lastAsked, now - lastAsked < .milliseconds(300) { return "it asks too often" }
                (lastAsked, requests) = (now, requests + 1)
                guard requests <= 10 else { return "it asks for ever" }
            }
            let state = Array(rest.prefix(Int(length))).withUnsafeBytes { StreamState($0) }
            rest = rest.dropFirst(Int(length))
            for hashes in state.hashes {
                guard hashes.rows.count <= PictureHashes.mostRows, !hashes.rows.isEmpty, hashes.size.area > 0,
                    hashes.firstRow + hashes.rows.count <= ExactTiles.down(hashes.size), hashes.since <= hashes.time
                else { return "hashes of other rows than the picture has" }
                check.take(hashes, map, now: now)
            }
            let wrong = check.wrongRows
            var compared = 0
            while let row = check.nextRow(map, now: now) {
                compared += 1
                guard map.rowCount > row, row >= 0, compared <= map.rowCount else { return "row \(row)" }
                // What is shown never changes its looks.
                check.hashed(row, UInt32(row), &map, now: now)
            }
            if check.isVerified(map) { refutations = 0 }
            if check.wrongRows > wrong {
                refutations += 1
                guard refutations <= 4 else { return "a host that is never right is believed" }
                guard !map.isAllExact, !check.isVerified(map) else { return "what is wrong counts as exact" }
                // The repair.
                (requests, lastAsked) = (0, nil)
                show()
            }
            guard map.isAllExact else { return "a repair isn't shown" }
        }
        return nil
    }
}
