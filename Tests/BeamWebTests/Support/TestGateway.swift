import BeamMedia
import BeamSession
import BeamWire
import Foundation
import NIOCore
import NIOPosix
import Testing

@testable import BeamWeb

extension Janus {
    var credentials: GatewayCredentials { get throws { try GatewayCredentials(file: tokenFile) } }
}

/// A gateway's client with what it told its host.
final class TestGateway: Sendable {
    let told = Log<Told>()
    let events = Log<GatewayEvent>()
    let cleared = Log<GatewayMountpoint>()
    let point: GatewayMountpoint
    let gateway: WebGateway

    init(
        _ address: String, _ credentials: GatewayCredentials = GatewayCredentials(), certificate: String? = nil,
        leftovers: [GatewayMountpoint] = [], hasSound: Bool = false, resolver: (any Resolver & Sendable)? = nil
    ) throws {
        var random = SystemRandomNumberGenerator()
        let (told, events, cleared) = (self.told, self.events, self.cleared)
        point = GatewayMountpoint(random: &random)
        gateway = try WebGateway(
            WebGateway.Options(
                address: try GatewayAddress(address), credentials: credentials, certificate: certificate,
                mountpoint: point,
                leftovers: leftovers,
                stream: BrowserStream.Configuration(bitRate: 8_000_000, usesFullChroma: false, hasSound: hasSound)),
            handlers: WebGateway.Handlers(
                requestKeyframe: { told.append(.keyframe(layer: $0)) },
                onDemand: { told.append(.demand($0, layer: $1)) }, onSoundDemand: { told.append(.sound($0)) },
                onEvent: { events.append($0) }, onCleared: { cleared.append($0) }), resolver: resolver)
    }

    deinit { gateway.shutdown() }

    /// Waits until others can watch there.
    func isReady(again: Bool = false) -> Bool { events.wait { $0 == .ready(again: again) } != nil }

    /// Waits for a problem.
    var problem: GatewayProblem? {
        let event = events.wait { if case .problem = $0 { true } else { false } }
        if case .problem(let problem)? = event { return problem }
        return nil
    }
}
