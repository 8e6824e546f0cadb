import BeamLog
import BeamMedia
import BeamWire

extension ViewerSession {
    public struct Configuration: Sendable {
        public var trust: ViewerTrust
        /// The host's code, by which the viewer is paired. In version 1: the digits that the host's person compares.
        public var code: PairingCode?
        /// A person can be asked to type the host's code.
        public var asksForCode: Bool
        /// The person wants the person at the host to be asked, if the host offers that.
        public var asksPerson = false
        /// Version 1 may be used with a host that doesn't speak version 2: everybody on the network can see what it
        /// shows.
        public var allowsUnencrypted: Bool
        /// The protocol version from discovery; nil: unknown.
        public var announcedVersion: Int?
        /// The host at this address spoke version 1 last. If version 1 may be used, it is tried first, unless version 2
        /// is announced.
        public var wasUnencrypted: Bool
        /// The decoder takes 4:4:4.
        public var decodesFullChroma: Bool
        /// The playout delay; nil: adaptive.
        public var buffer: Duration?
        /// Captions, notes, alerts and messages; nil: none.
        public var room: LogOptions?
        /// Sound is played or recorded here.
        public var takesSound = false
        /// Exact patches are shown here, or passed on.
        public var takesPatches = false
        /// The pointer is drawn here where it isn't in the pictures.
        public var takesPointer = false
        /// It isn't a host that is sought but a receiver, which is to show what is shared here (`Input.offerScreen`).
        public var offersScreen = false

        public init(
            trust: ViewerTrust, code: PairingCode? = nil, asksForCode: Bool = false, allowsUnencrypted: Bool = false,
            announcedVersion: Int? = nil, wasUnencrypted: Bool = false, decodesFullChroma: Bool = true,
            buffer: Duration? = nil, room: LogOptions? = nil
        ) {
            self.trust = trust
            self.code = code
            self.asksForCode = asksForCode
            self.allowsUnencrypted = allowsUnencrypted
            self.announcedVersion = announcedVersion
            self.wasUnencrypted = wasUnencrypted
            self.decodesFullChroma = decodesFullChroma
            self.buffer = buffer
            self.room = room
        }

        /// What a host is told in the hello.
        var features: SecureMessage.Hello.Features {
            var features: SecureMessage.Hello.Features = [.probes, .replacedCodes, .equals]
            if decodesFullChroma { features.insert(.fullChroma) }
            if takesSound { features.insert(.sound) }
            if takesPatches { features.insert(.patches) }
            if takesPointer { features.insert(.pointer) }
            if room != nil { features.insert(.words) }
            if offersScreen { features.insert(.offersScreen) }
            return features
        }
    }

    public enum Version: Int, Sendable, Hashable {
        /// Unencrypted lines of JSON.
        case version1 = 1
        /// Messages inside TLS.
        case version2 = 2
    }

    /// Why a control connection could not be made, or has ended.
    public enum ControlFailure: Sendable, Hashable {
        case network
        /// The peer doesn't speak TLS.
        case notSecure
        /// The peer's certificate is invalid; not retried as usual.
        case refusedCertificate
        /// Only a host with this key answers, and it is none of `expectedHosts`. Not retried as usual.
        case wrongHost(DeviceKey)
    }

    public enum Input: Sendable {
        /// The version 1 connection requested by `.connectControl` is established.
        case controlConnected
        /// Bytes received on it, split anywhere.
        case controlBytes([UInt8])
        /// The version 2 connection requested by `.connectControl` is established; its peer holds this key. `hasMoved`:
        /// its address isn't the one that the media socket is connected to.
        case controlSecured(DeviceKey, hasMoved: Bool = false)
        /// A message received on it, without its length prefix.
        case controlMessage([UInt8])
        /// The connection couldn't be established, or has ended; `reason` is for a person.
        case controlClosed(reason: String, ControlFailure = .network)
        /// The person has typed the host's code.
        case code(PairingCode)
        /// The person wants the person at the host to be asked, in answer to `ViewerEvent.codeNeeded`.
        case askPerson
        /// The hosts in the store have changed. Hosts that are missing were forgotten.
        case remembered([DeviceKey: String])
        /// Discovery has found the host: connect now.
        case hostAppeared
        /// The protocol version that the host announces; nil: discovery hasn't found it.
        case announced(version: Int?)
        /// The socket requested by `.openMedia` is bound to this local port.
        case mediaOpened(localPort: UInt16)
        /// The socket couldn't be opened, or reported an error. It is retried. `hasNoAddress`: this machine's address or
        /// interface is gone, so that nothing can be sent.
        case mediaFailed(reason: String, hasNoAddress: Bool = false)
        /// The decoder couldn't use a delivered frame, and needs a keyframe.
        case decoderFailed
        /// The pictures are passed on to somebody who needs a keyframe. What is delivered goes on meanwhile.
        case keyframeWanted
        /// These rectangles of tiles (`ExactTiles`) aren't exact here: the host is asked for them, if it has such.
        case exactWanted([PixelRect])
        /// All is exact here, and is to be compared: the host is asked for hashes, if it tells such.
        case hashesWanted
        /// All that is wished at present, in place of what was wished before.
        case wishes(ViewerWishes)
        /// Who gets the picture and the sound from here: both are asked for in full then, whatever is wished. Nil: nobody can.
        case relayed(PatchTakers?)
        /// What this machine writes to the room.
        case room(LogInput)
        /// To a receiver, now and on each connection that follows: what is shared here can be watched at this TCP port.
        case offerScreen(port: UInt16)
        case shutdown
    }

    public enum Output: Sendable {
        /// Look up the host's address again and connect to its control port.
        case connectControl(Version)
        /// Version 1: bytes to send. Version 2: one message to send.
        case sendControl([UInt8])
        case closeControl
        /// Open a UDP socket connected to the control connection's address and this port, in place of any earlier one.
        case openMedia(port: UInt16)
        case closeMedia
        case sendMedia([UInt8])
        /// The next frame to decode: in order and complete; all frames that it refers to were delivered.
        case deliver(ReceivedFrame)
        /// Sound has arrived, in any order, each packet once.
        case sound(ReceivedSound)
        /// A patch has arrived, in any order, each once; before or after the frame of the same picture.
        case patch(ReceivedPatch)
        /// Hashes of the host's picture have arrived, in any order, perhaps twice, and perhaps without being asked for.
        case hashes(ReceivedHashes)
        /// The pointer to draw over the pictures has changed; none at first.
        case pointer(ScreenPointer)
        case event(ViewerEvent)
        /// Nothing to do until this time or the next input. `for` is the purpose of the wake-up; nil if there is none.
        case wait(until: MediaTime, for: Purpose?)
    }

    /// The purpose of a deadline.
    public enum Purpose: Hashable, Sendable {
        /// The control connection: heartbeats, timeout, the next attempt.
        case control
        /// The media socket: hellos, timeout, replacement.
        case media
        /// A frame's missing parts are overdue.
        case reassembly
        /// Requests or a report are due.
        case feedback
        /// A frame's playout time has come.
        case playout
        /// A rate-limited announcement is passed on.
        case announcements
        /// Entries of the room, or acknowledgements, are due.
        case room
    }
}
