import Foundation

/// Runs a session's fuzz body of the tests under libFuzzer: `Scripts/fuzz --sanitize`. `BEAMROOM_FUZZ_SESSION` is
/// `host` or `viewer`.

/// libFuzzer's entry point with our command line. libFuzzer's own `main` isn't linked, because the package manager
/// needs ours.
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
