import Foundation

/// Runs a fuzz body of the tests under libFuzzer: `Scripts/fuzz --sanitize`. `BEAMROOM_FUZZ_SESSION` is one of the names
/// below.

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
    case "host": FuzzBodies.hostSession(bytes)
    case "viewer": FuzzBodies.viewerSession(bytes)
    case "room": FuzzBodies.roomWithAdversary(bytes)
    case "control": FuzzBodies.browserControl(bytes)
    case "check": FuzzBodies.connectivityCheck(bytes)
    case "answer": FuzzBodies.sessionAnswer(bytes)
    case "picture": FuzzBodies.browserPicture(bytes)
    case "stream": FuzzBodies.browserStream(bytes)
    case "gateway": FuzzBodies.gatewayMessage(bytes)
    case "request": PageFuzzBodies.request(bytes)
    case "message": PageFuzzBodies.message(bytes)
    case "upgrade": PageFuzzBodies.upgrade(bytes)
    case "patch": PatchFuzzBodies.content(bytes)
    case "pointer": FuzzBodies.pointer(bytes)
    case "hashes": FuzzBodies.hashes(bytes)
    default: "there is no fuzz body “\(session ?? "")”"
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
