import BeamMedia

/// Takes what a viewer receives. Called on the event loop, which all other sinks wait for: hand it on, don't block.
public protocol ReceivedSink: AnyObject, Sendable {
    /// The next frame to decode.
    func push(_ frame: ReceivedFrame)

    /// Sound has arrived: in any order, each packet once.
    func push(_ sound: ReceivedSound)

    /// A patch has arrived: in any order, each once.
    func push(_ patch: ReceivedPatch)

    /// Hashes of the host's picture have arrived: in any order, perhaps twice.
    func push(_ hashes: ReceivedHashes)

    /// The pointer to draw over the pictures has changed.
    func push(_ pointer: ScreenPointer)
}

extension ReceivedSink {
    public func push(_ frame: ReceivedFrame) {}
    public func push(_ sound: ReceivedSound) {}
    public func push(_ patch: ReceivedPatch) {}
    public func push(_ hashes: ReceivedHashes) {}
    public func push(_ pointer: ScreenPointer) {}
}
