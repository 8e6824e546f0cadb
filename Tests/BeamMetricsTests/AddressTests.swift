import Testing

@testable import BeamMetrics

/// What `--metrics` takes.
struct AddressTests {
    @Test(arguments: [
        ("9464", "127.0.0.1:9464", true), ("0", "127.0.0.1:0", true), ("localhost:1", "127.0.0.1:1", true),
        ("127.9.9.9:65535", "127.9.9.9:65535", true), ("192.0.2.7:9464", "192.0.2.7:9464", false),
        ("0.0.0.0:9464", "0.0.0.0:9464", false), ("[::1]:9464", "[::1]:9464", true),
        ("[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", true), ("[::]:9464", "[::]:9464", false),
        ("[2001:db8::7]:80", "[2001:db8::7]:80", false),
    ])
    func anAddressIsRead(_ text: String, _ shown: String, _ isLoopback: Bool) throws {
        let address = try #require(MetricsAddress(text))
        #expect(address.text == shown && address.isLoopback == isLoopback)
    }

    @Test(arguments: [
        "", ":", ":9464", "x", "-1", "+9464", "65536", "９４６４", "9464 ", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x",
        "::1:9464",
        "[::1]", "[::1]9464", "[127.0.0.1]:9464", "[]:9464", "desk:9464", "http://127.0.0.1:9464", "127.0.0.1:9464:1",
        "[::1]:94]:64",
    ])
    func anythingElseIsRefused(_ text: String) { #expect(MetricsAddress(text) == nil) }
}
