import BeamWire

/// Reads the messages of a version 1 connection.
struct LineReading: Sendable {
    private var buffer = LineBuffer()
    private var malformed = 0
    /// The media port, if it was announced before the reply.
    var earlyPort: UInt16?

    /// Returns the lines that `bytes` complete, and what is wrong with what follows them.
    mutating func lines(_ bytes: [UInt8]) -> ([ArraySlice<UInt8>], LineBuffer.LineTooLong?) {
        var complete: [ArraySlice<UInt8>] = []
        do throws(LineBuffer.LineTooLong) {
            try buffer.append(bytes) { complete.append($0) }
            return (complete, nil)
        } catch {
            return (complete, error)
        }
    }

    /// A line isn't a message. Returns whether that is once too often.
    mutating func isTooMuch() -> Bool {
        malformed += 1
        return malformed == ViewerTiming.malformedLineLimit
    }
}
