/// The content of small sealed datagrams: items one after the other, each u8 kind, u8 length, then so many bytes.
///
/// A kind that isn't known belongs to a later version, and is skipped; an item that is cut short ends the reading.
enum SealedItems {
    /// Calls `body` for each whole item.
    static func read(_ bytes: UnsafeRawBufferPointer, _ body: (_ kind: UInt8, _ value: UnsafeRawBufferPointer) -> Void)
    {
        var rest = bytes
        while rest.count >= 2 {
            let end = 2 + Int(rest[1])
            guard rest.count >= end else { return }
            body(rest[0], UnsafeRawBufferPointer(rebasing: rest[2..<end]))
            rest = UnsafeRawBufferPointer(rebasing: rest[end...])
        }
    }

    static func append(_ kind: UInt8, _ value: UInt32, to bytes: inout [UInt8]) {
        bytes += [kind, 4]
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// The value of an item of at least four bytes; those behind are for later versions.
    static func integer(_ value: UnsafeRawBufferPointer) -> UInt32? {
        value.count >= 4 ? UInt32(bigEndian: value.loadUnaligned(as: UInt32.self)) : nil
    }
}

/// What a viewer says of the stream (sealed, kind 0xB3).
struct Feedback: Hashable, Sendable {
    private static let keyframe: UInt8 = 1

    /// The frames up to this one are of no use any more: only a keyframe behind it mends the picture.
    var keyframeAfter: SequenceNumber?

    init(keyframeAfter: SequenceNumber? = nil) { self.keyframeAfter = keyframeAfter }

    /// What doesn't make sense isn't there.
    init(_ plaintext: UnsafeRawBufferPointer) {
        var keyframeAfter: SequenceNumber?
        SealedItems.read(plaintext) { kind, value in
            if kind == Self.keyframe { keyframeAfter = SealedItems.integer(value).map { SequenceNumber($0) } }
        }
        self.keyframeAfter = keyframeAfter
    }

    var plaintext: [UInt8] {
        var bytes: [UInt8] = []
        if let keyframeAfter { SealedItems.append(Self.keyframe, keyframeAfter.value, to: &bytes) }
        return bytes
    }
}

/// What a host says when there is no frame to send (sealed, kind 0xB4): that it is there, and how far the stream has
/// come. Without it nobody would miss the last frame before the screen came to rest.
struct StreamState: Hashable, Sendable {
    private static let newest: UInt8 = 1

    /// The last frame that was sent; nil before the first.
    var newest: SequenceNumber?

    init(newest: SequenceNumber?) { self.newest = newest }

    /// What doesn't make sense isn't there.
    init(_ plaintext: UnsafeRawBufferPointer) {
        var newest: SequenceNumber?
        SealedItems.read(plaintext) { kind, value in
            if kind == Self.newest { newest = SealedItems.integer(value).map { SequenceNumber($0) } }
        }
        self.newest = newest
    }

    var plaintext: [UInt8] {
        var bytes: [UInt8] = []
        if let newest { SealedItems.append(Self.newest, newest.value, to: &bytes) }
        return bytes
    }
}
