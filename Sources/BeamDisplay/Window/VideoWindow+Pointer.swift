import BeamMedia

/// The hosts' pointers, where they aren't in the pictures.
extension VideoWindow {
    /// Shows the pointer of a source over its picture, where the picture is live: not one that is held, or that words
    /// cover. The person's own pointer stays as it is.
    public func setPointer(_ pointer: ScreenPointer, of source: Int) {
        guard grid.take(pointer, of: source), grid.isShown || source == focus.source else { return }
        // A pointer is a layer of the scene: its old and its new place are redrawn, and nothing else.
        areLayersStale = true
    }

    /// The pointer that belongs to the last picture of a source.
    public func pointer(of source: Int) -> ScreenPointer { grid.pointer(of: source) }
}
