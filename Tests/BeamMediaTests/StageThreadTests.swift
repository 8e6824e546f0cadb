import BeamMedia
import Foundation
import Synchronization
import Testing

struct StageThreadTests {
    @Test(arguments: [("beam-sound-out", "beam-sound-out"), ("beam-a-very-long-name", "beam-a-very-lon")])
    func `The system shows its name`(name: String, shown: String) {
        // Often: a thread may run before the one that has started it goes on.
        for _ in 0..<100 {
            let found = Mutex("")
            let thread = StageThread(name) {
                let comm = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
                found.withLock { $0 = comm ?? "" }
            }
            thread.join()
            #expect(found.withLock { $0 } == shown + "\n")
        }
    }
}
