// The numbers of version 2's messages, datagrams and items, all in this file. The page “Version 2 on the wire” has the
// same tables; a test compares the two. Version 1 has no numbers: see `ControlMessage`.

extension SecureMessage {
    /// A control message's first byte. The page says who sends which, and the fields.
    package enum Kind: UInt8, CaseIterable {
        case hello = 0x01
        case welcome = 0x02
        case join = 0x03
        case session = 0x04

        case codeShare = 0x10
        case codeConfirm = 0x11
        case codeWait = 0x12
        case compareCommit = 0x13
        case compareNonce = 0x14
        case compareReveal = 0x15
        case paired = 0x16

        case mediaKey = 0x20
        case mediaKeyReady = 0x21
        case mediaPort = 0x22
        case broadcast = 0x23
        case sourceVisible = 0x24
        case shownSize = 0x25
        case soundWanted = 0x26
        case fullSize = 0x27
        case qualityWanted = 0x28
        case patchTakers = 0x29

        case ping = 0x30
        case pong = 0x31
        case refused = 0x3E
        case bye = 0x3F

        case roomGreeting = 0x40
        case roomEntries = 0x41
        case roomAcknowledged = 0x42
        case roomPartial = 0x43
        case roomReceipts = 0x44
        case roomSlowed = 0x45

        case meshGreeting = 0x47
        /// A greeting of a version that can't meet this one in a room.
        case meshFirstGreeting = 0x48
        case meshStatements = 0x49
        case meshStatuses = 0x4A
        case meshAlive = 0x4B
        case meshToHost = 0x4C
        case meshToViewer = 0x4D
        case meshCode = 0x4E
        case meshErrand = 0x4F
        case meshQuestion = 0x50
        case meshHeld = 0x51
        case meshForked = 0x52
        case meshPaused = 0x56

        case screenOffered = 0x60
        case screenAwaited = 0x61
    }
}

extension SealedHeader {
    package enum Sender: Hashable, Sendable { case host, viewer }

    /// A sealed datagram's first byte.
    package enum Kind: UInt8, Sendable, CaseIterable {
        /// A part of a frame.
        case media = 0xB1
        /// A viewer asks for the stream, at the address that this comes from.
        case hello = 0xB2
        /// Requests, and how frames have arrived.
        case feedback = 0xB3
        /// The newest frame sent, the bandwidth estimate, challenges.
        case state = 0xB4
        /// Parity (FEC) of a frame.
        case parity = 0xB5
        /// Sound.
        case sound = 0xB6
        /// A part of an exact patch.
        case patch = 0xB7
        /// Where the pointer is, or a part of its look.
        case pointer = 0xB8

        package var sender: Sender {
            switch self {
            case .media, .state, .parity, .sound, .patch, .pointer: .host
            case .hello, .feedback: .viewer
            }
        }
    }
}

extension Feedback {
    /// The items of a feedback datagram.
    package enum Item: UInt8, CaseIterable {
        case keyframe = 1
        case missing = 2
        case totals = 3
        case arrivals = 4
        case probes = 5
        case sound = 6
        case inexact = 7
        case missingChanges = 8
        case look = 9
        case hashesWanted = 10
    }
}

extension StreamState {
    /// The items of a state datagram.
    package enum Item: UInt8, CaseIterable {
        case newest = 1
        case rates = 2
        case reportRequest = 3
        case challenge = 4
        case probe = 5
        case newestChange = 6
        case hashes = 7
    }
}
