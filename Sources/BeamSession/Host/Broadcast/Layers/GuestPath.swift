import BeamMedia

/// What is known of a guest's path at present, as far as it decides on the guest's layer.
struct GuestPath: Hashable, Sendable {
    /// The stream goes to the guest, and the path isn't silent.
    var isReachable = false
    var isSilent = false
    /// Version 2: the guest reports how frames arrive. Version 1 doesn't: its path is assumed to carry the options' rate.
    var reports = true
    /// A report has come.
    var hasAnswered = false
    /// The bandwidth estimate in bits a second; whether it is less than the options' rate, and whether it rests on reports.
    var rate = 0
    var isBound = false
    var isMeasured = false

    /// The path carries most of `rate`, its layer's bits a second, or hasn't answered yet. If such a guest is late, the
    /// cause is a keyframe that others needed, or a busy machine: it catches up in its layer.
    func carriesMost(of rate: Double) -> Bool {
        guard reports else { return false }
        return !hasAnswered || !isBound || Double(self.rate) >= rate * LayerAssignment.leaveShare
    }
}

/// The paths of all guests, in their order. Looked up one by one, because most decisions need few of them.
protocol GuestPaths {
    func path(_ index: Int) -> GuestPath
    /// The same as the path's `isReachable`, for questions about all guests.
    func isReachable(_ index: Int) -> Bool
    /// How much of the encoder's output the path carries.
    func layerPath(_ index: Int, now: MediaTime) -> LayerRate.Path
}

extension Senders: GuestPaths {
    func path(_ index: Int) -> GuestPath {
        GuestPath(
            isReachable: all[index].isReachable, isSilent: all[index].isSilent, reports: all[index].delivery != nil,
            hasAnswered: all[index].hasAnswered, rate: all[index].delivery?.path.rate ?? 0,
            isBound: all[index].delivery?.path.isBound ?? false,
            isMeasured: all[index].delivery?.path.isMeasured ?? false)
    }

    func isReachable(_ index: Int) -> Bool { all[index].isReachable }

    func layerPath(_ index: Int, now: MediaTime) -> LayerRate.Path { all[index].layerPath(now: now) }
}
