import BeamDisplay
import BeamNetwork
import BeamSockets
import Foundation

/// What several viewers in one process use together.
struct ViewerResources: Sendable {
    /// Nil: members of a room, which has its own.
    let loop: NetworkLoop?
    let decoders: DecoderPool
    /// Nil: no search over Bluetooth.
    let nearby: NearbyHosts?
}

/// Watches several hosts at once: each with a connection, a session and a decoder of its own, all on one event loop and a
/// few decoding threads. What happens to one host concerns no other.
public final class ViewerWall: Sendable {
    /// The most hosts in one wall.
    public static let mostHosts = 16

    /// In the order of the options.
    public let viewers: [Viewer]
    /// The names by which the person has called the hosts.
    let names: [String]
    let window: WindowOptions?
    private let loop: NetworkLoop
    private let resources: ViewerResources

    /// Nothing uses the network before `start`.
    ///
    /// - Parameters:
    ///   - hosts: what to watch: at most `mostHosts`, none with files to write. Their windows are ignored.
    ///   - window: nil: no window.
    ///   - onNotice: called on the viewers' threads, with the host's place in the list.
    public init(
        _ hosts: [(name: String, options: ViewerOptions)], window: WindowOptions?,
        onNotice: @escaping @Sendable (Int, ViewerNotice) -> Void
    ) throws {
        precondition(hosts.count <= Self.mostHosts)
        let processors = ProcessInfo.processInfo.activeProcessorCount
        let loop = NetworkLoop()
        self.loop = loop
        let resources = ViewerResources(
            loop: loop, decoders: DecoderPool(threads: min(hosts.count, processors)),
            nearby: hosts.contains { $0.options.usesBluetooth } ? NearbyHosts() : nil)
        self.resources = resources
        self.window = window
        names = hosts.map(\.name)
        do {
            viewers = try hosts.enumerated().map { index, host throws in
                var options = host.options
                options.window = window
                return try Viewer(options, sharing: resources) { onNotice(index, $0) }
            }
        } catch {
            resources.decoders.stop()
            loop.shutdown()
            throw error
        }
    }

    /// Finds the hosts and connects to them. With a window, decoding begins when the window is open.
    public func start() {
        for viewer in viewers { viewer.start() }
    }

    /// Makes `ViewerWindow.run` return. Call it from any thread.
    public func endWindow() {
        for viewer in viewers { viewer.endWindow() }
    }

    /// Ends the sessions, decodes queued frames.
    public func stop() {
        for viewer in viewers { viewer.stop() }
        resources.decoders.stop()
        loop.shutdown()
    }
}
