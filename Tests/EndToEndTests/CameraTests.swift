import Foundation
import Testing

/// A watched screen as a camera. The kernel's module isn't at hand: a library plays its device for the program.
extension EndToEnd {
    @Suite(.needsProgram, .enabled(if: Tool.exists("cc"), "there is no C compiler (package gcc)"))
    struct CameraTests {
        /// A device of v4l2loopback for one program, and what it was given.
        private final class Loopback {
            private let scratch: ScratchDirectory
            private let kind: String
            private var file: String { scratch.file("device") }

            init(_ kind: String) throws {
                scratch = try ScratchDirectory()
                self.kind = kind
                let source = (#filePath as NSString).deletingLastPathComponent + "/Support/loopback.c"
                try Tool.run("cc", ["-shared", "-fPIC", "-o", scratch.file("loopback.so"), source, "-ldl"])
            }

            var environment: [String: String?] {
                ["LD_PRELOAD": scratch.file("loopback.so"), "LOOPBACK_FILE": file, "LOOPBACK_KIND": kind]
            }

            /// Each agreement: layout, width, height, stride.
            var formats: [String] {
                ((try? String(contentsOfFile: file + ".format", encoding: .utf8)) ?? "").split(separator: "\n")
                    .map(String.init)
            }

            /// The last picture that was written completely.
            func last(_ byteCount: Int) -> [UInt8]? {
                guard let data = FileManager.default.contents(atPath: file), data.count >= byteCount else { return nil }
                let end = data.count / byteCount * byteCount
                return Array(data[(end - byteCount)..<end])
            }
        }

        /// Shares a picture of one colour. Its luma is 180, Cb 90, Cr 150.
        private func shareColour(_ size: (width: Int, height: Int), _ ports: Ports, in scratch: ScratchDirectory) throws
            -> ProgramProcess
        {
            let area = size.width * size.height
            var file = Data("YUV4MPEG2 W\(size.width) H\(size.height) F10:1 Ip A1:1 C420jpeg\n".utf8)
            for _ in 0..<2 {
                file += Data("FRAME\n".utf8) + Data(repeating: 180, count: area)
                file += Data(repeating: 90, count: area / 4) + Data(repeating: 150, count: area / 4)
            }
            let path = scratch.file("colour.y4m")
            try file.write(to: URL(fileURLWithPath: path))
            return try Program.share(["--source", path, "--audio", "off"], ports: ports)
        }

        private func isNear(_ byte: UInt8, _ value: Int) -> Bool { abs(Int(byte) - value) <= 3 }

        /// It shows the picture in the picture's size, and black when the host has ended.
        @Test func aDeviceShowsThePictureAndThenBlack() throws {
            let (scratch, ports, device) = (try ScratchDirectory(), try Ports(), try Loopback("free"))
            let host = try shareColour((320, 180), ports, in: scratch)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target, "--v4l2", "/dev/video99"], environment: device.environment)
            defer { viewer.end() }
            #expect(try viewer.waitFor("camera").string("file") == "/dev/video99")
            let (area, length) = (320 * 180, 320 * 180 * 3 / 2)
            #expect(
                eventually(timeout: 20) {
                    guard let picture = device.last(length) else { return false }
                    return picture[..<area].allSatisfy { isNear($0, 180) }
                        && picture[area..<(area * 5 / 4)].allSatisfy { isNear($0, 90) }
                        && picture[(area * 5 / 4)...].allSatisfy { isNear($0, 150) }
                })
            #expect(device.formats == ["YU12 320 180 320"])
            host.interrupt()
            #expect(
                eventually(timeout: 20) {
                    device.last(length).map { $0[..<area].allSatisfy { $0 == 16 } } ?? false
                })
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))
        }

        /// A program reads the device already, so that it keeps another size and layout: the picture is fitted into it.
        @Test func aDeviceThatIsReadKeepsItsFormat() throws {
            let (scratch, ports, device) = (try ScratchDirectory(), try Ports(), try Loopback("held"))
            let host = try shareColour((320, 180), ports, in: scratch)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target, "--v4l2", "/dev/video99"], environment: device.environment)
            defer { viewer.end() }
            // 160 × 90 in the middle of 160 × 160: rows 34 to 123.
            let hasPicture = eventually(timeout: 20) {
                guard let picture = device.last(160 * 160 * 2) else { return false }
                func luma(_ row: Int) -> UInt8 { picture[row * 320 + 160] }
                return isNear(luma(36), 180) && isNear(luma(121), 180) && luma(32) == 16 && luma(126) == 16
                    && isNear(picture[80 * 320 + 161], 90) && isNear(picture[80 * 320 + 163], 150)
            }
            #expect(hasPicture)
            #expect(device.formats == ["YUYV 160 160 320"])
        }

        /// With nothing else to do, the viewer ends, and says why.
        @Test(arguments: [("busy", "End the programs that have it open"), ("vanishing", "its module was unloaded")])
        func aDeviceThatFailsIsReported(kind: String, words: String) throws {
            let (scratch, ports, device) = (try ScratchDirectory(), try Ports(), try Loopback(kind))
            let host = try shareColour((320, 180), ports, in: scratch)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target, "--v4l2", "/dev/video99"], environment: device.environment)
            defer { viewer.end() }
            #expect(try viewer.waitForEnd() == .exited(1))
            #expect(viewer.events("camera-failed").first?.string("reason")?.contains(words) == true)
            #expect(viewer.errorText.contains(words), "\(viewer.errorText)")
        }

        /// What isn't a device that takes pictures is refused at the start, with what to do.
        @Test func whatCannotBeACameraIsRefusedAtTheStart() throws {
            let scratch = try ScratchDirectory()
            let (camera, taken) = (try Loopback("camera"), try Loopback("taken"))
            defer { withExtendedLifetime((camera, taken)) {} }
            let nobody: [String: String?] = ["XDG_RUNTIME_DIR": scratch.path, "PIPEWIRE_REMOTE": nil]
            let cases: [(arguments: [String], environment: [String: String?], words: [String])] = [
                (["--v4l2", "/dev/video98"], [:], ["There is no /dev/video98", "video_nr=98"]),
                (["--v4l2", "/dev/null"], [:], ["/dev/null isn't a video device"]),
                (["--v4l2", "/dev/video99"], camera.environment, ["is a camera, into which no pictures"]),
                (["--v4l2", "/dev/video99"], taken.environment, ["Another program writes into /dev/video99"]),
                (["--camera", "Desk"], nobody, ["PipeWire", "it doesn't run for this user"]),
            ]
            for (arguments, environment, words) in cases {
                let (ending, _, said) = try Program.run(
                    ["watch", "127.0.0.1:9", "--no-window"] + arguments, environment: environment)
                #expect(ending == .exited(1), "\(arguments)")
                for word in words { #expect(said.contains(word), "\(said)") }
            }
            for arguments in [["--camera-size", "320x180"], ["--camera", " "], ["--v4l2", ""]] {
                let (ending, _, said) = try Program.run(["watch", "127.0.0.1:9"] + arguments)
                #expect(ending == .exited(64), "\(said)")
            }
        }
    }
}
