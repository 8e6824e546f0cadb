/// Which version a viewer speaks with its host, and why.
enum SpokenVersion: Sendable {
    /// `byMemory`: only because the host spoke it when it was met before.
    case plain(byMemory: Bool)
    /// The host hasn't spoken version 2 yet. `refusal`: why it has refused version 1, which was tried by memory.
    case secure(after: ViewerRefusal?)
    /// The host has spoken version 2 in this run: no fallback to version 1 any more.
    case secured

    init(_ configuration: ViewerSession.Configuration) {
        let mayFallBack = configuration.allowsUnencrypted && configuration.trust.required == nil
        let wasPlain = configuration.announcedVersion == nil && configuration.wasUnencrypted
        self =
            mayFallBack && (configuration.announcedVersion == 1 || wasPlain)
            ? .plain(byMemory: wasPlain) : .secure(after: nil)
    }

    var version: ViewerSession.Version { isPlain ? .version1 : .version2 }
    var isPlain: Bool { if case .plain = self { true } else { false } }
    var isSecured: Bool { if case .secured = self { true } else { false } }
}
