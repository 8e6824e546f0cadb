/// What libFuzzer calls with each input: `Scripts/fuzz --sanitize`. The bodies are the tests' own.

#if FUZZ_VIEWER
    private let body = FuzzBodies.viewerSession
#else
    private let body = FuzzBodies.hostSession
#endif

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    if let error = body(Array(UnsafeBufferPointer(start: data, count: count))) { fatalError(error) }
    return 0
}
