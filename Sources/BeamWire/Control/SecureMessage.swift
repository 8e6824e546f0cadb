import BeamMedia

/// A message of version 2's control plane, inside TLS: one byte for its kind, then its fields.
///
/// `MessageFraming` adds the length. Bytes behind the known fields belong to a later version and are ignored.
package enum SecureMessage: Hashable, Sendable {
    /// The viewer's first message.
    package struct Hello: Hashable, Sendable {
        package static let version: UInt16 = 2

        /// Optional abilities of a viewer.
        package struct Features: OptionSet, Hashable, Sendable {
            package var rawValue: UInt32

            package init(rawValue: UInt32) { self.rawValue = rawValue }

            /// It decodes 4:4:4 (H.264's High 4:4:4 Predictive profile).
            package static let fullChroma = Features(rawValue: 1 << 0)
            /// It acknowledges probes of the path's MTU, and takes frames that are cut to shorter datagrams.
            package static let probes = Features(rawValue: 1 << 1)
            /// It takes part in a log of the first form. Viewers before 2026-11-26 say only this; their words aren't taken.
            package static let firstWords = Features(rawValue: 1 << 2)
            /// It takes sound.
            package static let sound = Features(rawValue: 1 << 4)
            /// It says how large pictures may be for it (`bounds`).
            package static let bounds = Features(rawValue: 1 << 5)
            /// It proves its code against the host's code of a moment ago first, and takes `Refusal.replacedCode`.
            package static let replacedCodes = Features(rawValue: 1 << 8)
            /// It can enter a room of equals of the second form.
            package static let equals = Features(rawValue: 1 << 9)
            /// It takes part in the host's log.
            package static let words = Features(rawValue: 1 << 10)
            /// It comes to a receiver, to show its own screen there.
            package static let offersScreen = Features(rawValue: 1 << 13)
            /// It draws the pointer where it isn't in the pictures.
            package static let pointer = Features(rawValue: 1 << 15)
            /// It takes exact patches beside the frames. Bit 14 was that of patches which couldn't be requested again.
            package static let patches = Features(rawValue: 1 << 16)
        }

        package var version = Self.version
        package var features: Features = []
        /// Identifies one run of a viewer among others on the same device.
        package var instance: UInt64
        package var name: String
        /// The largest pictures that it takes; nil without that feature.
        package var bounds: PictureBounds?

        package init(
            version: UInt16 = Self.version, features: Features = [], instance: UInt64, name: String,
            bounds: PictureBounds? = nil
        ) {
            self.version = version
            self.features = bounds == nil ? features.subtracting(.bounds) : features.union(.bounds)
            self.instance = instance
            self.name = name
            self.bounds = bounds
        }
    }

    package struct Welcome: Hashable, Sendable {
        /// The ways in which an unknown viewer may be admitted.
        package struct Methods: OptionSet, Hashable, Sendable {
            package var rawValue: UInt8

            package init(rawValue: UInt8) { self.rawValue = rawValue }

            /// It types the code that the host shows.
            package static let code = Methods(rawValue: 1 << 0)
            /// Both sides show digits, and the host's person compares them.
            package static let compare = Methods(rawValue: 1 << 1)
            /// Everybody is admitted.
            package static let open = Methods(rawValue: 1 << 2)
        }

        /// Optional abilities of a host.
        package struct Features: OptionSet, Hashable, Sendable {
            package var rawValue: UInt32

            package init(rawValue: UInt32) { self.rawValue = rawValue }

            /// It keeps a log of the first form, as hosts before 2026-11-26 did.
            package static let firstWords = Features(rawValue: 1 << 2)
            /// It may send smaller pictures to a viewer that says in which size it shows them.
            package static let shownSize = Features(rawValue: 1 << 3)
            /// It may send sound.
            package static let sound = Features(rawValue: 1 << 4)
            /// It sends a viewer no more than the viewer wishes (`qualityWanted`).
            package static let quality = Features(rawValue: 1 << 6)
            /// It is a member of a room of equals of the second form.
            package static let equals = Features(rawValue: 1 << 9)
            /// It keeps a log: captions, notes, alerts, messages.
            package static let words = Features(rawValue: 1 << 10)
            /// It is a receiver: it has no picture, and shows those of others.
            package static let receiver = Features(rawValue: 1 << 13)
            /// It may send exact patches, and answers viewers that lack some.
            package static let patches = Features(rawValue: 1 << 16)
            /// It may send the pointer beside the pictures.
            package static let pointer = Features(rawValue: 1 << 15)
            /// It tells hashes of its picture to viewers that take patches and ask for them.
            package static let hashes = Features(rawValue: 1 << 17)

            /// It passes on what another host shares, which comes through `count` relays with this one: 0 (it is no relay)
            /// to 3, in bits 11 and 12.
            package static func relayed(_ count: Int) -> Features {
                Features(rawValue: UInt32(min(max(0, count), 3)) << 11)
            }

            /// Through how many relays its picture comes.
            package var relays: Int { Int(rawValue >> 11 & 3) }
        }

        package var version = Hello.version
        package var features: Features = []
        /// The host knows this viewer.
        package var isTrusted: Bool
        package var methods: Methods
        /// 32 bytes, random for each connection; bound by a pairing.
        package var nonce: [UInt8]
        package var name: String

        package init(
            version: UInt16 = Hello.version, features: Features = [], isTrusted: Bool, methods: Methods, nonce: [UInt8],
            name: String
        ) {
            self.version = version
            self.features = features
            self.isTrusted = isTrusted
            self.methods = methods
            self.nonce = nonce
            self.name = name
        }
    }

    package struct Session: Hashable, Sendable {
        /// 16 bytes: a UUID (RFC 9562).
        package var id: [UInt8]
        package var mediaPort: UInt16
        package var isBroadcasting: Bool
        /// Seals the viewer's datagrams.
        package var viewerKey: SealingKey
        package var mediaKey: SealingKey

        package init(id: [UInt8], mediaPort: UInt16, isBroadcasting: Bool, viewerKey: SealingKey, mediaKey: SealingKey)
        {
            self.id = id
            self.mediaPort = mediaPort
            self.isBroadcasting = isBroadcasting
            self.viewerKey = viewerKey
            self.mediaKey = mediaKey
        }
    }

    /// Why a host refuses.
    package enum Refusal: UInt16, Sendable {
        case other = 0
        case declined = 1
        /// The host admits no unknown viewer, or not in this way.
        case notTrusted = 2
        case wrongCode = 3
        /// The host is busy: retry later.
        case busy = 4
        case unanswered = 5
        /// The viewer was forgotten by `devices forget`.
        case forgotten = 6
        /// The code was used, and there is no new one. Hosts before 2026-11-23 say `notTrusted`.
        case usedCode = 7
        /// The code was replaced a moment ago: the new one is to be typed. Only for viewers that know it (`Features`).
        case replacedCode = 8
        /// The person at the host has sent this device away; no code lets it in at present. Hosts before 2026-11-25 say
        /// `forgotten`, and older viewers read `other`.
        case sentAway = 9
        /// The two versions of the program can't meet in a room. Older viewers read `other`.
        case otherVersion = 10
    }

    case hello(Hello)
    case welcome(Welcome)
    case join
    case session(Session)
    /// CPace's Ya and Yb: 32 bytes.
    case codeShare([UInt8])
    /// CPace's Ta and Tb: 64 bytes.
    case codeConfirm([UInt8])
    /// Too many wrong codes: don't retry for this many milliseconds.
    case codeWait(UInt32)
    /// 32 bytes: the viewer asks to compare digits.
    case compareCommit([UInt8])
    /// 32 bytes, and the number of digits; sent when the host's person has agreed.
    case compareNonce([UInt8], digits: UInt8)
    /// 32 bytes.
    case compareReveal([UInt8])
    case paired(isRemembered: Bool)
    case mediaKey(SealingKey)
    case mediaKeyReady(UInt16)
    case mediaPort(UInt16)
    case broadcast(Bool)
    /// Whether what the host shares can be seen there. While it can't, viewers keep the last picture.
    case sourceVisibility(SourceVisibility)
    /// The largest width and height in pixels in which the viewer shows the picture; 0 and 0: any.
    case shownSize(width: UInt16, height: UInt16)
    /// The full picture's size, of which the viewer gets a smaller one because of its bounds; 0 and 0: it gets all of it.
    case fullSize(width: UInt16, height: UInt16)
    /// The most that the viewer wishes to be sent; at first it limits nothing.
    case qualityWanted(QualityWish)
    /// Whether the viewer wants sound at present; it does at first if it has that feature.
    case soundWanted(Bool)
    /// Who gets the picture by way of the viewer; at first only somebody who takes patches, if it has that feature.
    case patchTakers(PatchTakers)
    case ping(UInt64)
    /// The ping's own value, and the host's monotonic clock in µs.
    case pong(UInt64, clock: UInt64)
    case refused(Refusal, String)
    case bye(String)
    /// The room's log, if both have that feature.
    case room(LogMessage)
    /// Between members of a room of equals.
    case mesh(MeshMessage)
    /// To a receiver: the sender's host listens on this TCP port, at the address that this connection comes from.
    case screenOffered(port: UInt16)
    /// From a receiver: it waits for this sender's offer, and for nobody else's.
    case screenAwaited
    /// A kind of a later version: skipped.
    case unknown(UInt8)
}

package enum SecureMessageError: Error, Hashable, CustomStringConvertible {
    case empty
    case truncated(kind: UInt8)
    case value(kind: UInt8, field: String)

    package var description: String {
        switch self {
        case .empty: "an empty message"
        case .truncated(let kind): "a message of kind \(kind) that ends too early"
        case .value(let kind, let field): "a message of kind \(kind) whose \(field) is invalid"
        }
    }
}
