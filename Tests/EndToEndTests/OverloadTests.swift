import Foundation
import Synchronization
import Testing

/// A host whose machine doesn't give it enough time.
extension EndToEnd {
    @Suite(.needsProgram) struct OverloadTests {
        /// Stops a process for four fifths of the time, until it is ended.
        private final class Brake: Sendable {
            private let isEnded = Atomic(false)
            private let pid: pid_t
            private let done = DispatchSemaphore(value: 0)

            init(_ pid: pid_t) {
                self.pid = pid
                Thread.detachNewThread { [self] in
                    while !isEnded.load(ordering: .relaxed) {
                        kill(pid, SIGSTOP)
                        Thread.sleep(forTimeInterval: 0.16)
                        kill(pid, SIGCONT)
                        Thread.sleep(forTimeInterval: 0.04)
                    }
                    done.signal()
                }
            }

            /// The process runs again when this returns.
            func end() {
                guard !isEnded.exchange(true, ordering: .relaxed) else { return }
                done.wait()
            }
        }

        @Test func itSendsLessThenLetsInNobodyAndComesBack() throws {
            let ports = try Ports()
            let host = try Program.share(
                .pattern + ["--content", "video", "--time-limit", "150"], ports: ports, input: .terminal)
            defer { host.end() }
            try host.waitFor("ready")
            let first = try Program.watch([ports.target, "--time-limit", "150"], machine: Machine())
            defer { first.end() }
            try first.waitFor("first-frame")
            #expect(try host.waitFor("stats").string("sheds") == "nothing")

            let brake = Brake(host.pid)
            defer { brake.end() }
            try host.waitFor("overload", timeout: 40) { $0.string("sheds") == "places" }
            let stages = host.events("overload").map { $0.string("sheds") }
            #expect(stages == ["rate", "frames", "places"])
            try host.waitForWords("This machine can't send everything to 1 viewer")
            let second = try Program.watch([ports.target, "--time-limit", "150"], machine: Machine())
            defer { second.end() }
            try second.waitFor("retry", timeout: 40) { $0.string("reason")?.contains("can't serve more") ?? false }
            #expect(second.events("first-frame").isEmpty)

            brake.end()
            try host.waitFor("overload", timeout: 60) { $0.string("sheds") == "nothing" }
            try second.waitFor("first-frame", timeout: 60)
            try host.waitForWords("This machine keeps up again")
            #expect(host.events("viewer-left").isEmpty, "nobody is sent away")
            expectPlainWords(host.errorText)
            expectPlainWords(second.errorText)
        }
    }
}
