import Foundation
import Testing

/// `beamroom share`, watched by an independent implementation of version 1.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer, .needsFFmpeg) struct HostTests {
        @Test(.tags(.alone)) func aMovingScreenReachesAnIOSViewerCompleteAndInTime() throws {
            let server = try XServer(width: 1280, height: 720)
            let painter = try Painter(server.display, framesPerSecond: 30)
            defer { painter.freeze() }
            let ports = try Ports()
            let host = try Program.share(
                ["--allow-unencrypted", "--display", server.display, "--max-fps", "30"], ports: ports)
            defer { host.end() }
            let ready = try host.waitFor("ready")
            #expect(ready.number("port") == Double(ports.control))
            #expect(ready.number("width") == 1280 && ready.number("height") == 720)

            let viewer = try IOSViewer(ports.control, from: "127.0.0.3")
            defer { viewer.leave() }
            #expect(try viewer.reply()["ok"] == .bool(true))
            try viewer.waitForFrames(30)
            let wait = try ProcessorWait(of: host)
            let start = secondsNow()
            pause(seconds: 5)
            let seconds = secondsNow() - start
            let waited = try wait.eachSecond()
            let checker = viewer.current.checker

            let rate = Double(checker.count(from: start, to: start + seconds)) / seconds
            let least = waited > ProcessorWait.most ? 20.0 : 25.0
            report("720p at 30: frames per second", "\(rate.short), the host waited \(waited.milli) ms in each")
            report("720p at 30: longest time between keyframes", "\(checker.longestKeyframeGap.short) s")
            #expect(rate >= least)
            #expect(rate <= 31.5, "no more than --max-fps")
            #expect(checker.errors == [])
            #expect(checker.incomplete <= 1, "parts of \(checker.incomplete) frames are missing")
            #expect(checker.longestKeyframeGap <= 2.2)
            #expect(checker.frames.first?.isKeyframe == true, "a viewer can begin only with a keyframe")
            #expect(checker.frames.allSatisfy { $0.width == 1280 && $0.height == 720 })
            try expectDecodable(checker, width: 1280, height: 720)
        }

        @Test func unpairedPeersReceiveNothing() throws {
            let server = try XServer(width: 640, height: 360)
            let painter = try Painter(server.display, framesPerSecond: 30)
            defer { painter.freeze() }
            let ports = try Ports()
            let host = try Program.share(["--allow-unencrypted", "--display", server.display], ports: ports)
            defer { host.end() }
            let mediaPort = UInt16(try host.waitFor("ready").number("mediaPort") ?? 0)

            let unknownPeers = try ["127.0.0.1", "127.0.0.2"].map { try Socket.datagrams(on: Endpoint(0, on: $0)) }
            let mute = try Socket.connect(to: Endpoint(ports.control), from: "127.0.0.2")
            func sayHello() {
                for unknownPeer in unknownPeers { unknownPeer.send(Array("BRHI!".utf8), to: Endpoint(mediaPort)) }
            }
            sayHello()
            pause(seconds: 0.5)
            let viewer = try IOSViewer(ports.control, from: "127.0.0.3")
            defer { viewer.leave() }
            for _ in 0..<5 {
                sayHello()
                pause(seconds: 0.3)
            }
            try viewer.waitForFrames(30)
            for unknownPeer in unknownPeers {
                #expect(
                    unknownPeer.receiveWaitingDatagram() == nil,
                    "an unknown peer at \(unknownPeer.localEndpoint) gets data")
            }
            #expect(mute.receive(timeout: 0.1) == .nothing, "a silent connection gets nothing")
            #expect(viewer.current.checker.errors == [])
        }

        @Test func anotherSocketOnTheViewersMachineDoesNotTakeOverTheStream() throws {
            let server = try XServer(width: 640, height: 360)
            let painter = try Painter(server.display, framesPerSecond: 30)
            defer { painter.freeze() }
            let ports = try Ports()
            let host = try Program.share(["--allow-unencrypted", "--display", server.display], ports: ports)
            defer { host.end() }
            let mediaPort = UInt16(try host.waitFor("ready").number("mediaPort") ?? 0)
            let viewer = try IOSViewer(ports.control)
            defer { viewer.leave() }
            try viewer.waitForFrames(10)
            let unknownPeer = try Socket.datagrams()
            var stolen = 0
            let start = viewer.current.checker.frames.count
            for _ in 0..<10 {
                unknownPeer.send(Array("BRHI!".utf8), to: Endpoint(mediaPort))
                pause(seconds: 0.25)
                while unknownPeer.receiveWaitingDatagram() != nil { stolen += 1 }
            }
            let frames = viewer.current.checker.frames.count - start
            report(
                "another socket on the viewer's machine: datagrams it got", "\(stolen) (the viewer \(frames) frames)")
            #expect(frames >= 40, "the viewer keeps its stream")
            #expect(stolen == 0)
        }

        @Test func aStillScreenTakesLittleTimeAndAJoinerSeesItAtOnce() throws {
            let server = try XServer(width: 1920, height: 1080)
            let painter = try Painter(server.display, framesPerSecond: 0)
            defer { painter.freeze() }
            let ports = try Ports()
            let host = try Program.share(["--allow-unencrypted", "--display", server.display], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let first = try IOSViewer(ports.control, from: "127.0.0.2")
            defer { first.leave() }
            try first.waitForFrames(1)
            pause(seconds: 1.2)
            let framesBefore = first.current.checker.frames.count
            let before = try host.process.processorSeconds()
            let start = secondsNow()
            pause(seconds: 5)
            let share = (try host.process.processorSeconds() - before) / (secondsNow() - start) * 100
            let frames = first.current.checker.frames.count - framesBefore
            report("1080p still: host's processor time", "\(share.short) % of a core, \(frames) frames in 5 s")
            #expect(share < 10)
            #expect(frames <= 8, "a still screen has keyframes only")
            #expect(first.current.checker.longestKeyframeGap <= 2.2)

            let second = try IOSViewer(ports.control, from: "127.0.0.3")
            defer { second.leave() }
            _ = try second.reply()
            let paired = second.current.lineTimes.first ?? secondsNow()
            try second.waitForFrames(1)
            let frame = try #require(second.current.checker.frames.first)
            let wait = (frame.arrived - paired) * 1000
            report("1080p still: a joiner's first picture after being accepted", "\(wait.short) ms")
            #expect(frame.isKeyframe)
            #expect(second.current.checker.errors == [])
            #expect(first.current.checker.errors == [])
        }

        @Test func theSharedRegionHasTheScreensColoursAndPlace() throws {
            let scratch = try ScratchDirectory()
            let server = try XServer(width: 1024, height: 768)
            let painter = try Painter(server.display, framesPerSecond: 0)
            defer { painter.freeze() }
            let ports = try Ports()
            let host = try Program.share(
                ["--display", server.display, "--region", "641x399+101+53", "--no-cursor"], ports: ports)
            defer { host.end() }
            let ready = try host.waitFor("ready")
            #expect(ready.number("width") == 641 && ready.number("height") == 399)
            let frames = scratch.file("frames.y4m")
            let viewer = try Program.watch([ports.target, "--frames", frames, "--time-limit", "4"])
            defer { viewer.end() }
            #expect(try viewer.waitForEnd() == .exited(0))
            let y4m = try Y4M(frames)
            #expect(y4m.count >= 1 && y4m.width == 641 && y4m.height == 399)
            let arrived = try Screenshot.lastPicture(ofVideo: frames, width: 641, height: 399, in: scratch)
            let shown = try Screenshot.take(of: server.display, x: 101, y: 53, width: 641, height: 399)
            let likeness = arrived.psnr(shown, x: 0, y: 0, width: 641, height: 399)
            report("a region of the screen, RGB against the screen's own", "\(likeness.short) dB")
            #expect(likeness > 24, "4:2:0 costs much here, but a shift or wrong colours would cost far more")
        }

        @Test func thePointerIsSharedUnlessTheOptionsSayOtherwise() throws {
            let server = try XServer(width: 640, height: 360)
            let painter = try Painter(server.display, framesPerSecond: 0)
            defer { painter.freeze() }
            for (options, isDrawn) in [([], true), (["--no-cursor"], false)] as [([String], Bool)] {
                let ports = try Ports()
                let host = try Program.share(
                    ["--allow-unencrypted", "--display", server.display] + options, ports: ports)
                defer { host.end() }
                try host.waitFor("ready")
                let viewer = try IOSViewer(ports.control)
                defer { viewer.leave() }
                try viewer.waitForFrames(1)
                pause(seconds: 0.5)
                let before = viewer.current.checker.frames.count { !$0.isKeyframe }
                let connection = try XConnection(server.display)
                for step in 0..<20 {
                    connection.movePointer(to: 100 + step * 10, 100)
                    pause(seconds: 0.05)
                }
                let moved = viewer.current.checker.frames.count { !$0.isKeyframe } - before
                report("20 steps of the pointer \(options.joined())", "\(moved) frames")
                #expect(isDrawn ? moved >= 5 : moved <= 1)
            }
        }

        @Test func aScaledScreenKeepsItsAspectRatio() throws {
            let server = try XServer(width: 1000, height: 500)
            let painter = try Painter(server.display, framesPerSecond: 10)
            defer { painter.freeze() }
            let ports = try Ports()
            let host = try Program.share(
                ["--allow-unencrypted", "--display", server.display, "-m", "640"], ports: ports)
            defer { host.end() }
            let ready = try host.waitFor("ready")
            #expect(ready.number("width") == 640 && ready.number("height") == 320)
            let viewer = try IOSViewer(ports.control)
            defer { viewer.leave() }
            try viewer.waitForFrames(5)
            try expectDecodable(viewer.current.checker, width: 640, height: 320)
        }

        @Test func aResizedWindowContinuesInTheSameStream() throws {
            let server = try XServer(width: 800, height: 600)
            let painter = try Painter(server.display, framesPerSecond: 20)
            defer { painter.freeze() }
            let connection = try XConnection(server.display)
            let window = try #require(connection.visibleWindows().last?.id)
            let ports = try Ports()
            let host = try Program.share(
                ["--allow-unencrypted", "--display", server.display, "--window", "\(window)"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let scratch = try ScratchDirectory()
            let recording = scratch.file("record.mkv")
            let program = try Program.watch([ports.target, "--record", recording])
            defer { program.end() }
            let viewer = try IOSViewer(ports.control, from: "127.0.0.2")
            defer { viewer.leave() }
            try viewer.waitForFrames(10)
            connection.resize(window, width: 641, height: 361)
            let seen = program.lineCount
            try viewer.wait("the new size") { state in
                state.checker.frames.last.map { ($0.width, $0.height) == (641, 361) } == true ? true : nil
            }
            let frames = viewer.current.checker.frames.count
            try viewer.waitForFrames(frames + 20)
            let checker = viewer.current.checker
            #expect(checker.errors == [])
            #expect(checker.frames.first { $0.width == 641 }?.isKeyframe == true, "a new size begins with a keyframe")
            try program.waitFor("stats", from: seen) { $0.number("width") == 641 && ($0.number("fps") ?? 0) > 3 }
        }

        private func expectDecodable(_ checker: WireChecker, width: Int, height: Int) throws {
            let scratch = try ScratchDirectory()
            let (bytes, count) = checker.annexB()
            let file = scratch.file("received.h264")
            try Data(bytes).write(to: URL(fileURLWithPath: file))
            let video = try Tool.probe(file)
            #expect(video.complaints == "")
            #expect(video.codec == "h264" && video.profile == "Main")
            #expect(video.width == width && video.height == height)
            #expect(video.pictureTypes.count == count, "every frame is decodable")
            #expect(!video.pictureTypes.contains("B"))
        }
    }
}
