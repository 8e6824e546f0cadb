import Testing

/// Runs all tests that are built in. By a file of this name the package manager needs no index of symbols to find tests.
@main struct AllTests {
    static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
