import BeamClock
import BeamMedia
import BeamPixels
import BeamSession

/// Puts a viewer's decoded pictures and exact patches together into what its window shows. Main thread.
///
/// Without patches, or in a film, that is the decoded picture as it is. From the first patch on it is a picture in RGB,
/// of which only what has changed is written.
@MainActor final class ExactPicture {
    /// A tile that hasn't changed for so long is asked for, and again after so long.
    private static let rest = Duration.milliseconds(80)
    private static let leastRepeat = Duration.milliseconds(120)
    /// The pause between requests doubles each time that no answer comes, up to so often.
    private static let mostDoublings = 6
    /// How much of patches is restored here: pixels of so many pictures at once, and of so many a second. Patches
    /// beyond that are dropped, and their tiles are asked for.
    private static let burstPictures = 2
    private static let picturesPerSecond = 30
    /// A patch counts as so many pixels at least: each one takes time, however small it is.
    private static let leastPixels = 4096
    /// After so many dropped patches the others that have come with them aren't read: all may be outdated.
    private static let mostDropped = 16
    /// To move so many pixels takes about as long as to restore one.
    private static let movedPerPixel = 4
    /// The most rectangles in a request.
    private static let mostWanted = 31
    /// How far a decoded pixel's chroma reaches (`PixelConversion`), rounded up to an even number.
    private static let reach = 4
    /// The most patches that wait for changes on which they build, and for how long.
    private static let mostWaiting = 32
    private static let patience = Duration.milliseconds(100)
    /// What is missing while the screen changes is asked for at once, and again after so long.
    private static let urgentRepeat = Duration.milliseconds(60)
    /// After so many decoded pictures in a row that change most of it and leave nothing exact, it is a film.
    private static let filmPictures = 20

    private var map: ExactMap?
    private var decoded: Picture?
    /// What is shown, if it isn't the decoded picture.
    private var composed: PixelBuffer?
    private var codec = PatchCodec()
    private var filmLength = 0
    private var askedAt: MediaTime?
    /// How often it was asked since the last patch came.
    private var unanswered = 0
    private var budget: TokenBucket?
    /// A patch that builds on changes which haven't arrived.
    private struct Waiting {
        var patch: ReceivedPatch
        var content: DecodedPatch
        /// Until all changes up to this time of the host are known, or for so long.
        var known: UInt64
        var end: MediaTime
    }

    private var waiting: [Waiting] = []
    /// Tiles of patches that couldn't be shown, with the patches' times. The first frame that is as new as a patch
    /// draws them, even if it changes nothing there from the frame before.
    private var outdated: [(time: UInt64, tiles: [PixelRect])] = []
    /// With more entries than these, a frame draws everything.
    private static let mostOutdated = 64
    /// Tiles of patches that couldn't be shown, to be asked for at once.
    private var missed: [PixelRect] = []
    /// With more rectangles than these, all that lies between them is asked for, too.
    private static let mostMissed = 1024
    /// Changes that were dropped of those that have come together.
    private var droppedTogether = 0
    private var session = MediaTime.zero
    /// The last decoded picture's time of capture, in µs of the host's clock.
    private var newest: UInt64 = 0
    private var hasPatches = false
    /// Patches that were malformed.
    private(set) var refused: UInt64 = 0

    private var check = ExactCheck()
    /// Rows of earlier maps that counted as exact and weren't.
    private var wrongRows: UInt64 = 0
    /// So many pixels are hashed at a time: some tenths of a millisecond.
    private static let hashedPixels = 1 << 19

    /// What the statistics were told last.
    var told: Exactness?

    /// Nil: the host sends nothing exactly.
    var exactness: Exactness? {
        guard hasPatches, let map else { return nil }
        return Exactness(
            share: map.exactShare, isVerified: check.isVerified(map), wrongRows: wrongRows + check.wrongRows)
    }

    /// Takes what has come, and returns what is to be shown; nil: nothing has changed.
    ///
    /// - Parameter dropped: what was dropped before the patches.
    func take(_ picture: Picture?, _ patches: [ReceivedPatch], dropped: DroppedChanges? = nil) -> Picture? {
        // Before the picture: by that it is known if the host's clock is another one from now on.
        let isNoted = drop(dropped)
        var shown = picture.flatMap { take($0) }
        if !isNoted { drop(dropped) }
        droppedTogether = 0
        func show(_ next: Picture?) {
            guard let next else { return }
            shown = shown.map { next.replacing($0) } ?? next
        }
        for (index, patch) in patches.enumerated() {
            guard droppedTogether < Self.mostDropped else {
                drop(patches[index...].reduce(nil) { .adding($1, to: $0) })
                break
            }
            show(take(patch))
            show(takeWaiting())
        }
        show(takeWaiting())
        return shown
    }

    // MARK: Decoded pictures

    /// Nil: all that the picture has changed is shown exactly already.
    private func take(_ picture: Picture) -> Picture? {
        decoded = picture
        guard let changes = picture.changes, picture.format != .bgrx else {
            (map, composed) = (nil, nil)
            return picture
        }
        // An earlier time is another clock's: behind a relay, the host was started anew.
        let isOtherClock = changes.captureTime < newest
        newest = changes.captureTime
        if map?.size != picture.size || session != picture.session || isOtherClock {
            composed = nil
            map = ExactMap(picture.size, now: .now)
            budget = TokenBucket(
                capacity: picture.size.area * Self.burstPictures,
                bitsPerSecond: picture.size.area * Self.picturesPerSecond * 8)
            session = picture.session
            (filmLength, unanswered, hasPatches) = (0, 0, false)
            (waiting, missed, outdated) = ([], [], [])
            wrongRows += check.wrongRows
            check = ExactCheck()
        }
        let lost = map?.take(changes, now: .now) ?? []
        guard let composed, let map else { return picture }
        noteFilm(picture)
        guard filmLength < Self.filmPictures else {
            self.composed = nil
            return picture
        }
        let changed =
            picture.damage.rects.map { $0.grown(by: Self.reach) } + lost
            + takeOutdated(by: changes.captureTime, of: picture.size)
        let parts = map.inexact(in: changed)
        return parts.isEmpty ? nil : convert(parts, of: picture, into: composed)
    }

    private func takeOutdated(by time: UInt64, of size: PixelSize) -> [PixelRect] {
        guard !outdated.isEmpty else { return [] }
        let isTooMuch = outdated.count > Self.mostOutdated
        let tiles = outdated.filter { $0.time <= time }.flatMap(\.tiles)
        outdated.removeAll { $0.time <= time || isTooMuch }
        return isTooMuch ? [PixelRect(size)] : tiles.map { ExactTiles.pixels(of: $0, in: size) }
    }

    private func noteFilm(_ picture: Picture) {
        let isFilm = map?.exactCount == 0 && picture.damage.area * 2 > picture.size.area
        filmLength = isFilm ? filmLength + 1 : 0
    }

    /// Writes parts of a decoded picture into the shown one.
    private func convert(_ rects: [PixelRect], of picture: Picture, into target: PixelBuffer) -> Picture {
        var shown = picture
        shown.buffer = target
        shown.damage = DamageRegion()
        let plane = target.planes[0]
        for rect in rects {
            PixelConversion.toBGRX(
                picture.buffer, colour: picture.colour, into: plane.base + rect.y * plane.stride + rect.x * 4,
                stride: plane.stride, rect: rect)
            shown.damage.insert(rect)
        }
        return shown
    }

    // MARK: Patches

    private func take(_ patch: ReceivedPatch) -> Picture? {
        // A patch before the first frame that says what it changes could be older than what is shown.
        guard decoded != nil, map?.size == patch.pictureSize, session == patch.session else { return nil }
        let content: DecodedPatch
        var known: PatchPlan?
        do throws(PatchError) {
            let plan = try PatchCodec.plan(of: patch.content, pictureSize: patch.pictureSize)
            known = plan
            let pixels = plan.rects.reduce((plan.move?.target.area ?? 0) / Self.movedPerPixel) { $0 + $1.area }
            guard budget?.take(max(pixels, Self.leastPixels), now: .now) == nil else {
                drop(patch, known)
                return nil
            }
            content = try codec.decode(patch.content, pictureSize: patch.pictureSize)
        } catch {
            refused += 1
            drop(patch, known)
            return nil
        }
        (hasPatches, unanswered) = (true, 0)
        return show(patch, content, isLast: waiting.count >= Self.mostWaiting, end: .now + Self.patience)
    }

    /// - Parameter plan: what is known of it. What a repair has is asked for again anyway.
    private func drop(_ patch: ReceivedPatch, _ plan: PatchPlan?) {
        guard !patch.isRepair else { return }
        droppedTogether += 1
        miss(map?.drop(plan, capturedAt: patch.hostTime, now: .now) ?? [], at: patch.hostTime)
    }

    /// Returns whether there was anything, of what is shown here.
    @discardableResult private func drop(_ dropped: DroppedChanges?) -> Bool {
        guard let dropped, map?.size == dropped.pictureSize, session == dropped.session else { return false }
        miss(map?.drop(nil, capturedAt: dropped.time, now: .now) ?? [], at: dropped.time)
        return true
    }

    /// These tiles couldn't be shown as they were at `time`. However much that is of a host, what is noted of it is bounded.
    private func miss(_ tiles: [PixelRect], at time: UInt64) {
        guard let first = tiles.first else { return }
        missed += tiles
        if missed.count > Self.mostMissed { missed = [missed.reduce(first) { $0.union($1) }] }
        if outdated.count <= Self.mostOutdated { outdated.append((time, tiles)) }
    }

    /// Shows those patches whose turn has come, and gives up those that have waited for too long.
    private func takeWaiting() -> Picture? {
        guard !waiting.isEmpty else { return nil }
        var shown: Picture?
        let now = MediaTime.now
        var some: [Waiting] = []
        swap(&some, &waiting)
        for one in some {
            // Nothing has come that it waits for: it isn't looked at again.
            if let map, map.known < one.known, one.end > now {
                waiting.append(one)
                continue
            }
            guard let next = show(one.patch, one.content, isLast: one.end <= now, end: one.end) else { continue }
            shown = shown.map { next.replacing($0) } ?? next
        }
        return shown
    }

    private func show(_ patch: ReceivedPatch, _ content: DecodedPatch, isLast: Bool, end: MediaTime) -> Picture? {
        switch map?.take(content.plan, capturedAt: patch.hostTime, isLast: isLast, now: .now) {
        case .wait(let known): waiting.append(Waiting(patch: patch, content: content, known: known, end: end))
        case .missed(let tiles): miss(tiles, at: patch.hostTime)
        case .show(let moves, let parts):
            if moves || parts.contains(where: { !$0.isEmpty }) { return show(patch, content, moves: moves, parts) }
        case nil: break
        }
        return nil
    }

    private func show(
        _ patch: ReceivedPatch, _ content: DecodedPatch, moves: Bool, _ parts: [[PixelRect]]
    ) -> Picture? {
        guard var decoded else { return nil }
        filmLength = 0
        decoded.time = patch.arrival
        // A repair is of a picture that was shown long ago: how old that is says nothing of what the person waits for.
        decoded.captureTime = content.plan.basis == nil ? nil : patch.captureTime
        decoded.decodedTime = .now
        let target: PixelBuffer
        var shown: Picture
        if let composed {
            target = composed
            shown = decoded
            shown.buffer = target
            shown.damage = DamageRegion()
        } else {
            target = PixelBuffer(format: .bgrx, size: decoded.size)
            composed = target
            shown = convert([PixelRect(decoded.size)], of: decoded, into: target)
        }
        if moves, let move = content.plan.move {
            content.move(in: target.planes[0])
            shown.damage.insert(move.target)
        }
        for (index, parts) in parts.enumerated() {
            for part in parts {
                content.copy(index, part: part, into: target.planes[0])
                shown.damage.insert(part)
            }
        }
        return shown
    }

    // MARK: What is lacking

    /// The tiles to ask the host for now, as rectangles of tiles.
    func takeWanted() -> [PixelRect] {
        let now = MediaTime.now
        guard let map, !map.isAllExact else { return [] }
        if !missed.isEmpty, askedAt.map({ now - $0 >= Self.urgentRepeat }) ?? true {
            askedAt = now
            defer { missed.removeAll() }
            return ExactTiles.joined(missed, in: ExactTiles.grid(map.size), most: Self.mostWanted)
        }
        guard askedAt.map({ now - $0 >= pause }) ?? true else { return [] }
        let wanted = map.lacking(for: Self.rest, most: Self.mostWanted, now: now)
        guard !wanted.isEmpty else { return [] }
        askedAt = now
        unanswered += 1
        return wanted
    }

    // MARK: Whether it is true

    /// The host is to be asked for hashes now.
    func takeHashRequest() -> Bool {
        guard let map, composed != nil else { return false }
        return check.takeRequest(map, now: .now)
    }

    /// Hashes have come.
    func take(_ all: [ReceivedHashes]) {
        guard let map, composed != nil else { return }
        for received in all where received.session == session { check.take(received.hashes, map, now: .now) }
    }

    /// Hashes some of the rows that are to be compared. The rest is for the next time: the window isn't held up.
    func compareSome() {
        guard var map, let composed, check.hasRows(map) else { return }
        let now = MediaTime.now
        var pixels = 0
        while pixels < Self.hashedPixels, let row = check.nextRow(map, now: now) {
            check.hashed(row, TileRowHash.of(row: row, in: composed), &map, now: now)
            pixels += TileRowHash.pixels(of: row, in: map.size).area
        }
        self.map = map
    }

    private var checkTimeout: Duration? {
        guard let map, composed != nil else { return nil }
        return check.hasRows(map) ? .zero : check.deadline(map).map { max(.zero, $0 - .now) }
    }

    private var pause: Duration { Self.leastRepeat * (1 << min(max(0, unanswered - 1), Self.mostDoublings)) }

    /// A patch has waited for too long.
    var isDue: Bool { waiting.first.map { $0.end <= .now } ?? false }

    /// Until something may have to be asked for, or a patch has waited for too long; nil: there is nothing to do.
    var timeout: Duration? {
        let waits = waiting.first.map { max(.zero, $0.end - .now) }
        guard let map, !map.isAllExact else { return [waits, checkTimeout].compactMap(\.self).min() }
        let ask = askedAt.map {
            max(missed.isEmpty ? Self.rest : .zero, $0 + (missed.isEmpty ? pause : Self.urgentRepeat) - .now)
        }
        return min(waits ?? .seconds(1), ask ?? (missed.isEmpty ? Self.rest : .zero))
    }
}

extension PixelRect {
    fileprivate func grown(by pixels: Int) -> PixelRect {
        PixelRect(x: x - pixels, y: y - pixels, width: width + 2 * pixels, height: height + 2 * pixels)
    }
}
