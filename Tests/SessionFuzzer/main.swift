import Foundation

/// Runs a session's fuzz body of the tests under libFuzzer: `Scripts/fuzz --sanitize`. `BEAMROOM_FUZZ_SESSION` is
/// `host`, `viewer` or `room`.

/// libFuzzer's entry point with our command line. libFuzzer's own `main` isn't linked, because the package manager
/// needs ours.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

private let session = ProcessInfo.processInfo.environment["BEAMROOM_FUZZ_SESSION"]

private func fault(_ bytes: [UInt8]) -> String? {
    switch session {
    case "viewer": FuzzBodies.viewerSession(bytes)
    case "room": FuzzBodies.roomWithAdversary(bytes)
    default: FuzzBodies.hostSession(bytes)
    }
}

var argumentCount = CommandLine.argc
var arguments = CommandLine.unsafeArgv
let status = runFuzzer(&argumentCount, &arguments) { data, count in
    let bytes = Array(UnsafeBufferPointer(start: data, count: count))
    if let error = fault(bytes) { fatalError(error) }
    return 0
}
precondition(status == 0)
