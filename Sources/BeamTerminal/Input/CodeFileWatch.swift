import BeamWire
import Synchronization

/// Notices that another code was written into a file.
final class CodeFileWatch: Sendable {
    private let file: CodeFile
    private let state: Mutex<(stamp: CodeFile.Stamp?, code: PairingCode?)>

    init(path: String) {
        file = CodeFile(path: path)
        state = Mutex((file.stamp, nil))
    }

    /// Call it once a second. `give` gets the code that was written into the file. A file that is incomplete or missing is
    /// read again a second later.
    func tick(give: (PairingCode) -> Void) {
        let stamp = file.stamp
        guard stamp != nil, stamp != state.withLock({ $0.stamp }), let code = try? file.read() else { return }
        let isNews = state.withLock { state in
            defer { state = (stamp, code) }
            return state.code != code
        }
        if isNews { give(code) }
    }
}
