/// A panel's layer, drawn anew only when what determines it has changed.
struct LayerCache<Key: Equatable> {
    private var drawn: (key: Key, layer: Layer?)?

    /// - Parameter key: nil: the panel isn't shown.
    mutating func layer(_ key: Key?, draw: (Key) -> Layer?) -> Layer? {
        guard let key else {
            drawn = nil
            return nil
        }
        if let drawn, drawn.key == key { return drawn.layer }
        let layer = draw(key)
        drawn = (key, layer)
        return layer
    }
}
