import Testing

/// The frame around a shared region, on the host's own screen.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer) struct FrameTests {
        @Test func aRegionIsFramedUntilItsHostEnds() throws {
            let screen = try XServer(width: 640, height: 360)
            let region = ["--display", screen.display, "--region", "200x100+100+80"]
            func edge() throws -> [UInt8] { try Screenshot.take(of: screen.display).pixel(99, 110) }
            let ground = try edge()
            var ports = try Ports()
            let host = try Program.share(region, ports: ports)
            defer { host.end() }
            // Blue, green, red.
            #expect(try eventually(timeout: 30) { try edge() == [0xfa, 0x9e, 0x5c] })
            // Also if it can't put away anything.
            host.kill()
            #expect(try eventually(timeout: 30) { try edge() == ground })

            ports = try Ports()
            let other = try Program.share(region + ["--no-frame"], ports: ports)
            defer { other.end() }
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            // A frame is there within some milliseconds of the beginning.
            pause(seconds: 0.5)
            #expect(try edge() == ground)
        }
    }
}
