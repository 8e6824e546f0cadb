/// What is shown in a window, and what the person's keys do there: the part of `VideoWindow.run` that is its owner's.
@MainActor package protocol WindowDelegate: AnyObject {
    /// There is nothing to show any more.
    var isOver: Bool { get }
    /// After which time something has to change though nothing happens; nil: nothing has.
    var timeout: Duration? { get }

    /// Passes on to the window what has changed.
    ///
    /// - Parameter isFirst: the window has just opened, and everything is new.
    func update(isFirst: Bool)

    /// The person has done something. `.quit` isn't passed on: it ends `run`.
    ///
    /// - Returns: false if that ends `run`, too.
    func handle(_ event: WindowEvent) -> Bool
}

extension VideoWindow {
    /// Shows what `delegate` gives, until the person closes the window or the delegate ends it.
    package func run(_ delegate: some WindowDelegate) {
        delegate.update(isFirst: true)
        while !delegate.isOver {
            for event in waitForEvents(timeout: delegate.timeout) {
                guard event != .quit, delegate.handle(event) else { return }
            }
            delegate.update(isFirst: false)
        }
    }
}
