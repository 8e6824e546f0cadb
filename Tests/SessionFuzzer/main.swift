import Foundation

/// Feeds a session's fuzz body by libFuzzer: `Scripts/fuzz --sanitize`. The bodies are the tests' own; `BEAMROOM_FUZZ_SESSION` says
/// which, `host` or `viewer`.

/// libFuzzer's, with the command line's arguments; its own `main` isn't linked, as the package manager wants one of ours.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

private let isViewer = ProcessInfo.processInfo.environment["BEAMROOM_FUZZ_SESSION"] == "viewer"

var argumentCount = CommandLine.argc
var arguments = CommandLine.unsafeArgv
let status = runFuzzer(&argumentCount, &arguments) { data, count in
    let bytes = Array(UnsafeBufferPointer(start: data, count: count))
    if let error = isViewer ? FuzzBodies.viewerSession(bytes) : FuzzBodies.hostSession(bytes) { fatalError(error) }
    return 0
}
precondition(status == 0)
