import CErrorStream
import Foundation
import Glibc
import BeamTerminal
import Testing

@testable import beamroom

/// Standard error while a library connects to an X server, on several threads at a time.
@Suite(.serialized) struct ErrorStreamTests {
    private func place(_ descriptor: CInt) -> [UInt64] {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return [] }
        return [UInt64(status.st_dev), UInt64(status.st_ino), UInt64(status.st_rdev)]
    }

    @Test func overlappingPausesEndWhereTheyBegan() {
        let before = place(STDERR_FILENO)
        #expect(place(StandardStreams.messages) == before && StandardStreams.messages != STDERR_FILENO)
        // Two threads: the one that began first also ends first.
        beam_error_stream_pause()
        beam_error_stream_pause()
        beam_error_stream_resume()
        let during = place(STDERR_FILENO)
        beam_error_stream_resume()
        #expect(during != before, "nothing is turned away as long as one needs it")
        #expect(place(STDERR_FILENO) == before && place(StandardStreams.messages) == before)
    }
}
