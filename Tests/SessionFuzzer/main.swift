/// Feeds a session's fuzz body by libFuzzer: `Scripts/fuzz --sanitize`. The bodies are the tests' own.

/// libFuzzer's, with the command line's arguments; its own `main` isn't linked, as the package manager wants one of ours.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

private func check(_ bytes: [UInt8]) -> String? {
    #if FUZZ_VIEWER
        FuzzBodies.viewerSession(bytes)
    #else
        FuzzBodies.hostSession(bytes)
    #endif
}

var argumentCount = CommandLine.argc
var arguments = CommandLine.unsafeArgv
let status = runFuzzer(&argumentCount, &arguments) { data, count in
    if let error = check(Array(UnsafeBufferPointer(start: data, count: count))) { fatalError(error) }
    return 0
}
precondition(status == 0)
