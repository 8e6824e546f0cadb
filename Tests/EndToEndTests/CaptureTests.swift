import Foundation
import Testing

/// What an eavesdropper sees while two machines pair and while one watches the other.
extension EndToEnd {
    @Suite(
        .needsProgram, .needsFFmpeg,
        .enabled(if: PacketCapture.obstacle == nil, "\(PacketCapture.obstacle ?? "")"))
    struct CaptureTests {
        private static let hostName = "Jürgens Schreibtisch"
        private static let viewerName = "wohnzimmer-sofa"
        private static let code = "482913"
        let scratch: ScratchDirectory
        let ports: Ports

        init() throws {
            scratch = try ScratchDirectory()
            ports = try Ports()
        }

        @Test func anEavesdropperSeesOnlyTLSAndSealedDatagrams() throws {
            let capture = try PacketCapture([ports.control, ports.media])
            let desk = try Machine()
            let host = try Program.share(
                .pattern + ["--name", Self.hostName, "--code", Self.code], ports: ports, accept: "ask", machine: desk,
                input: .pipe)
            defer { host.end() }
            try host.waitFor("ready")
            let recording = scratch.file("record.mkv")
            let byCode = try watch(["--code", Self.code, "--record", recording])
            defer { byCode.end() }
            try byCode.waitFor("first-frame")
            let byDigits = try watch([])
            defer { byDigits.end() }
            try host.waitForWords("You'll compare digits first")
            host.process.type("y")
            let digits = try byDigits.shownCode()
            try host.waitForWords("Does it show the same digits")
            noticeTheQuestion()
            host.process.type("y")
            try byDigits.waitFor("first-frame")
            pause(seconds: 2.5)
            // The media key is rotated when a viewer leaves.
            byDigits.interrupt()
            _ = try byDigits.waitForEnd()
            pause(seconds: 1)
            byCode.interrupt()
            _ = try byCode.waitForEnd()
            #expect(byCode.events("device-paired").count == 1 && byDigits.events("device-paired").count == 1)
            // A second device of the same name gets the first digits of its key appended.
            let names = try desk.devices().compactMap { $0.string("name") }
            #expect(names.count == 2 && names.allSatisfy { $0.hasPrefix(Self.viewerName) } && names[0] != names[1])
            let packets = try capture.finish()

            let streams = packets.streams
            #expect(streams.count == 4, "two connections, each in two directions")
            for stream in streams {
                #expect(tlsTrouble(stream.bytes) == nil, "\(stream.from) to \(stream.to)")
            }
            let datagrams = packets.datagrams
            report(
                "captured",
                "\(datagrams.count) datagrams of \(datagrams.reduce(0) { $0 + $1.payload.count }) bytes, "
                    + "\(streams.reduce(0) { $0 + $1.bytes.count }) bytes on the control port")
            #expect(datagrams.count > 100)
            for datagram in datagrams {
                let kinds: Set<UInt8> = datagram.from.port == ports.media ? [0xB1, 0xB4, 0xB6, 0xB7] : [0xB2, 0xB3]
                #expect(datagram.payload.count >= 28 && kinds.contains(datagram.payload[0]) && datagram.payload[1] == 0)
            }
            let found = try finds(packets, secrets(recording) + [("the digits", Array(digits.utf8))])
            #expect(found == [])
            // No nonce is used twice.
            let headers = datagrams.map { [UInt8]($0.payload.prefix(12)) + [$0.from.port == ports.media ? 0 : 1] }
            let perReceiver = Dictionary(grouping: datagrams.indices) { datagrams[$0].to }
            for (_, numbers) in perReceiver { #expect(Set(numbers.map { headers[$0] }).count == numbers.count) }
        }

        /// Proves the search itself: in version 1 it finds everything.
        @Test func inVersion1TheSearchFindsAllSecrets() throws {
            let capture = try PacketCapture([ports.control, ports.media])
            let host = try Program.share(
                .pattern + ["--name", Self.hostName, "--allow-unencrypted"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try IOSViewer(ports.control, code: Self.code)
            defer { viewer.leave() }
            try viewer.waitForFrames(20)
            let file = scratch.file("received.h264")
            try Data(viewer.current.checker.annexB().bytes).write(to: URL(fileURLWithPath: file))
            viewer.leave()
            let packets = try capture.finish()
            let names = try Set(finds(packets, secrets(file)))
            #expect(
                names == [
                    "the magic", "the code", "the host's name", "a part of the host's name", "a sequence parameter set",
                    "a picture parameter set",
                ])
            #expect(packets.streams.allSatisfy { tlsTrouble($0.bytes) != nil })
        }

        // MARK: -

        /// A viewer with its own machine name.
        private func watch(_ arguments: [String]) throws -> ProgramProcess {
            let machine = try Machine()
            return ProgramProcess(
                wrapping: try ChildProcess(
                    "unshare",
                    [
                        "--uts", "sh", "-c", #"hostname "$0" && exec "$@""#, Self.viewerName, Program.path, "watch",
                        "--json",
                        "--no-window", "--time-limit", "60", ports.target,
                    ] + arguments,
                    environment: ["DISPLAY": nil, "WAYLAND_DISPLAY": nil, "XDG_STATE_HOME": machine.state]),
                on: machine)
        }

        /// Byte strings that must not be seen, with names for them. `video` is a recording of the stream, for its
        /// parameter sets.
        private func secrets(_ video: String) throws -> [(String, [UInt8])] {
            let stream = scratch.file("stream.h264")
            try Tool.run(
                "ffmpeg",
                ["-v", "error", "-y", "-i", video, "-c", "copy", "-bsf:v", "h264_mp4toannexb", "-f", "h264", stream])
            let units = H264.units(inAnnexB: [UInt8](try Data(contentsOf: URL(fileURLWithPath: stream))))
            let sequence = try #require(units.first { H264.type($0) == H264.sps })
            let picture = try #require(units.first { H264.type($0) == H264.pps })
            func counted(_ set: [UInt8]) -> [UInt8] { WireMessage.bigEndian(UInt16(set.count)) + set }
            return [
                ("the magic", Array("BMRV".utf8)), ("the code", Array(Self.code.utf8)),
                ("the code", Array("482 913".utf8)), ("the host's name", Array(Self.hostName.utf8)),
                ("a part of the host's name", Array("Schreibtisch".utf8)),
                ("the viewer's name", Array(Self.viewerName.utf8)), ("a sequence parameter set", sequence),
                // With its length, because the set alone may be short enough to appear by chance.
                ("a picture parameter set", counted(picture)),
            ]
        }

        /// The names of what is found. The magic, with only four bytes, must be at a datagram's beginning.
        private func finds(_ packets: [PacketCapture.Packet], _ secrets: [(String, [UInt8])]) throws -> [String] {
            let places = (packets.datagrams.map(\.payload) + packets.streams.map(\.bytes)).map { Data($0) }
            return secrets.filter { name, secret in
                places.contains { name == "the magic" ? $0.starts(with: secret) : $0.range(of: Data(secret)) != nil }
            }.map(\.0)
        }

        /// What in a stream isn't TLS 1.3 (RFC 8446, section 5.1): hellos and change-cipher-spec may be in the clear,
        /// all that follows is application data.
        private func tlsTrouble(_ bytes: [UInt8]) -> String? {
            var index = 0
            var isSealed = false
            while index < bytes.count {
                guard index + 5 <= bytes.count else { return "a record's header is cut off" }
                let (kind, version) = (bytes[index], bytes[index + 1])
                let length = Int(bytes[index + 3]) << 8 | Int(bytes[index + 4])
                guard version == 3, length <= 16640 else { return "byte \(index) begins no record" }
                switch kind {
                case 0x16 where !isSealed && index == 0: break
                case 0x14 where length == 1: break
                case 0x17: isSealed = true
                default: return "a record of kind \(kind) at byte \(index)"
                }
                index += 5 + length
            }
            return isSealed ? nil : "nothing is sealed"
        }
    }
}
