import ArgumentParser

/// Which versions of the protocol are allowed.
struct VersionOptions: ParsableArguments {
    @Flag(
        help: "Also allow version 1, for older apps. It isn't encrypted: everybody on this network can see the picture."
    )
    var allowUnencrypted = false
}
