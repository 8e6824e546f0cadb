import BeamMedia
import BeamWire

/// What a viewer gets beside the pictures: sound, exact patches and the pointer. A pure value.
struct BesidePictures: Sendable {
    let takesSound: Bool
    let takesPatches: Bool
    let takesPointer: Bool
    private(set) var sound = SoundReceiver()
    private var patches = PatchAssembly()
    private var exactRequest = ExactRequest()
    private var pointer = PointerReceiver()
    /// All is exact here: the host is to be asked for hashes to compare it with.
    var wantsHashes = false
    /// The host passes on what another one shares: the times of patches are of that one's clock.
    var isRelayed = false

    init(takesSound: Bool, takesPatches: Bool, takesPointer: Bool) {
        self.takesSound = takesSound
        self.takesPatches = takesPatches
        self.takesPointer = takesPointer
    }

    /// A new session, which says anew where the pointer is. Returns whether a pointer was shown or hidden until now.
    mutating func restart() -> Bool {
        sound.restart()
        patches = PatchAssembly()
        exactRequest.removeAll()
        wantsHashes = false
        let wasApart = pointer.pointer != .inPicture
        pointer = PointerReceiver()
        return wasApart
    }

    mutating func restartSound() { sound.restart() }

    // MARK: What comes in

    /// Takes a datagram's plaintext; `deliver` gets what it completes. Returns whether it is well formed; nil: this
    /// viewer doesn't take its kind.
    ///
    /// - Parameter session: when the session began.
    mutating func insert(
        _ kind: SealedHeader.Kind, _ plaintext: UnsafeRawBufferPointer, clock: HostClock, session: MediaTime,
        now: MediaTime, deliver: (ViewerSession.Output) -> Void
    ) -> Bool? {
        switch kind {
        case .sound where takesSound: return insertSound(plaintext, clock: clock, now: now, deliver: deliver)
        case .patch where takesPatches:
            do throws(PatchDatagramError) {
                let patch = try insertPatch(plaintext, clock: clock, session: session, now: now)
                if let patch { deliver(.patch(patch)) }
                return true
            } catch {
                return false
            }
        case .pointer where takesPointer:
            do throws(PointerDatagramError) {
                if try pointer.insert(PointerDatagram(plaintext), now: now) { deliver(.pointer(pointer.pointer)) }
                return true
            } catch {
                return false
            }
        default: return nil
        }
    }

    private mutating func insertSound(
        _ plaintext: UnsafeRawBufferPointer, clock: HostClock, now: MediaTime, deliver: (ViewerSession.Output) -> Void
    ) -> Bool {
        sound.roundTrip = clock.roundTrip
        let offset = clock.offset
        return sound.insert(plaintext, now: now) { entry in
            let sound = ReceivedSound(
                opus: Array(entry.opus), number: entry.number, time: entry.time, begins: entry.flags.contains(.begins),
                ends: entry.flags.contains(.ends), isReduced: entry.flags.contains(.reduced), arrival: now,
                clockOffset: offset)
            deliver(.sound(sound))
        }
    }

    /// The patch that is complete with this datagram.
    private mutating func insertPatch(
        _ plaintext: UnsafeRawBufferPointer, clock: HostClock, session: MediaTime, now: MediaTime
    ) throws(PatchDatagramError) -> ReceivedPatch? {
        patches.roundTrip = clock.roundTrip
        guard let finished = try patches.insert(PatchDatagram(plaintext), now: now) else { return nil }
        let captured = isRelayed ? nil : MediaTime(microseconds: finished.hostTime)
        return ReceivedPatch(
            content: finished.content, hostTime: finished.hostTime, captureTime: captured.flatMap { clock.local($0) },
            arrival: now, pictureSize: finished.pictureSize, session: session, isRepair: finished.isRepair)
    }

    /// The host has sent the change of that number, and all before it.
    mutating func announced(change number: UInt32, now: MediaTime) {
        if takesPatches { patches.announced(number, now: now) }
    }

    // MARK: What is asked for

    /// These rectangles of tiles aren't exact here, or at somebody to whom the picture is passed on.
    mutating func want(exact tiles: [PixelRect], of size: PixelSize, now: MediaTime) {
        exactRequest.add(tiles, of: size, now: now)
    }

    /// When there is something to ask for or to report; `distantFuture`: nothing.
    func deadline(now: MediaTime) -> MediaTime {
        if wantsHashes { return now }
        var next = sound.deadline ?? .distantFuture
        if let deadline = patches.deadline { next = min(next, deadline) }
        if let deadline = exactRequest.deadline(now: now) { next = min(next, deadline) }
        if let deadline = pointer.deadline { next = min(next, deadline) }
        return next
    }

    /// Adds the requests for patches and the pointer that are due.
    mutating func addRequests(to feedback: inout Feedback, now: MediaTime) {
        feedback.inexact = exactRequest.take(now: now)
        feedback.missingChanges = patches.takeRequests(now: now)
        feedback.look = pointer.takeRequest(now: now)
        (feedback.wantsHashes, wantsHashes) = (wantsHashes, false)
    }

    /// What the host is to be told of the sound now; nil: nothing.
    mutating func takeSoundFeedback(now: MediaTime) -> Feedback.Sound? { sound.takeFeedback(now: now) }
}
