import BeamNetwork

/// Takes what a viewer receives, from whatever session, as a `FrameSink` takes what a host sends.
protocol ViewerSink: ReceivedSink {
    /// Called once. What comes before is kept, as far as there is room.
    func open()

    /// Called once, after the last frame, even if `open` was never called. Returns when the sink has finished.
    func close()
}
