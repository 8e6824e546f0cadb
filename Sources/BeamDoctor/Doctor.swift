import BeamMedia
import Dispatch
import Foundation
import Synchronization

/// The checks of this machine.
public enum Doctor {
    struct Check: Sendable {
        var subject: String
        var run: @Sendable () -> [Finding]

        init(_ subject: String, _ run: @escaping @Sendable () -> [Finding]) {
            self.subject = subject
            self.run = run
        }
    }

    /// In this order a share comes to need them.
    static let checks: [Check] = [
        Check("screen") { ScreenCheck.findings() },
        Check("encoder") { [CodecCheck.encoder()] },
        Check("decoder") { [CodecCheck.decoder()] },
        Check("sound") { [SoundCheck.finding()] },
        Check("priority") { [MachineCheck.priority()] },
        Check("addresses") { [NetworkCheck.addresses()] },
        Check("multicast") { [NetworkCheck.multicast()] },
        Check("discovery") { [DiscoveryCheck.finding()] },
        Check("ports") { PortCheck.findings() },
        Check("firewall") { [FirewallCheck().finding()] },
        Check("browsers") { [CodecCheck.browsers()] },
        Check("keys") { [StoreCheck.keys()] },
        Check("disk") { [StoreCheck.disk()] },
        Check("clock") { [MachineCheck.clock()] },
    ]

    /// After this a check counts as broken: an X server or a sound server that is stopped never answers.
    static let longestCheck = Duration.seconds(20)

    /// Runs the checks one after the other. Takes some seconds; a check that never ends keeps its thread.
    ///
    /// - Parameter found: called for each finding as soon as it is there, on the calling thread.
    public static func examine(_ found: (Finding) -> Void) {
        for check in checks { for finding in result(of: check) { found(finding) } }
    }

    static func result(of check: Check, within limit: Duration = longestCheck) -> [Finding] {
        Bounded.run(within: limit, check.run)
            ?? [
                Finding(
                    check.subject, .broken,
                    "It hasn't answered for \(Int(limit.inSeconds)) s: the service or the device behind it hangs. Restart that, or "
                        + "the machine.")
            ]
    }
}

/// What may never return.
enum Bounded {
    /// What `body` returns; nil: it hasn't within `limit`, and keeps its thread.
    static func run<Value: Sendable>(within limit: Duration, _ body: @escaping @Sendable () -> Value) -> Value? {
        let result = Result<Value>()
        let done = DispatchSemaphore(value: 0)
        let thread = Thread {
            let value = body()
            result.value.withLock { $0 = value }
            done.signal()
        }
        thread.start()
        _ = done.wait(timeout: .now() + limit.inSeconds)
        return result.value.withLock { $0 }
    }

    private final class Result<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
    }
}
