import BeamLog

extension LogMemberID {
    /// A host's log has its viewers as members.
    init(_ viewer: ViewerID) { self.init(viewer.value) }
}
