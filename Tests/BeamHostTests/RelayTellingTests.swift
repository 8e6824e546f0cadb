import BeamHost
import BeamMedia
import BeamSession
import Dispatch
import Synchronization
import Testing

/// Several threads learn what becomes of a relay's host.
struct RelayTellingTests {
    @Test func viewersAreToldInTheOrderInWhichItWasLearnt() {
        let queue = DispatchQueue(label: "test-relay")
        for round in 0..<300 {
            let told = Mutex<[SourceVisibility]>([])
            let telling = RelayTelling(on: queue)
            DispatchQueue.concurrentPerform(iterations: 3) { thread in
                if thread == 0 {
                    return telling.begin { change in
                        if case .visibility(let visibility) = change { told.withLock { $0.append(visibility) } }
                    }
                }
                for number in 0..<500 {
                    telling.handle(.sourceVisibility(number % 2 == thread - 1 ? .screenLocked : .visible))
                }
            }
            telling.handle(.sourceVisibility(.monitorOff))
            telling.handle(.sourceVisibility(.screenLocked))
            queue.sync {}
            // Each is told once, and the last one is what is so.
            let words = told.withLock { $0 }
            #expect(words.suffix(2) == [.monitorOff, .screenLocked], "round \(round)")
            #expect(zip([.visible] + words, words).allSatisfy { $0 != $1 }, "round \(round): \(words)")
        }
    }

    /// Whoever is told later only learns what is so at present.
    @Test func whatWasLearntBeforeIsToldAtTheBeginning() {
        let queue = DispatchQueue(label: "test-relay")
        let told = Mutex<[RelayCondition.Change]>([])
        let telling = RelayTelling(on: queue)
        telling.handle(.hostRelays(1))
        telling.handle(.sourceVisibility(.screenLocked))
        telling.begin { change in told.withLock { $0.append(change) } }
        telling.handle(.hostRelays(2))
        telling.handle(.hostRelays(2))
        telling.frameArrived()
        queue.sync {}
        #expect(told.withLock { $0 } == [.relays(1), .visibility(.screenLocked), .relays(2)])
    }
}
