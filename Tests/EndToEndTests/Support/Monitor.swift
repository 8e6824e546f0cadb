import Foundation

/// A value that threads share: whoever changes it wakes those who wait for it.
///
/// `@unchecked Sendable`: `value` is touched only with `condition` held.
final class Monitor<Value: Sendable>: @unchecked Sendable {
    private let condition = NSCondition()
    private var value: Value

    init(_ value: Value) { self.value = value }

    /// A copy of the value as it is now.
    var current: Value { withLock { $0 } }

    func set(_ value: Value) { withLock { $0 = value } }

    @discardableResult
    func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        condition.lock()
        defer {
            condition.broadcast()
            condition.unlock()
        }
        return try body(&value)
    }

    /// Asks `body` at once and after every change until it answers something, for at most `timeout` seconds.
    func wait<Result>(timeout: Double, _ body: (inout Value) throws -> Result?) rethrows -> Result? {
        let deadline = Date(timeIntervalSinceNow: timeout)
        condition.lock()
        defer { condition.unlock() }
        while true {
            if let result = try body(&value) { return result }
            if !condition.wait(until: deadline) { return try body(&value) }
        }
    }
}

/// What the harness itself could not do; the description is the sentence a person reads in the test's failure.
struct HarnessError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    /// `description`, with what the last system call said.
    static func system(_ what: String, _ number: Int32 = errno) -> HarnessError {
        HarnessError("\(what): \(String(cString: strerror(number)))")
    }
}

/// Seconds on the monotonic clock, for intervals.
func secondsNow() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// As long as the program takes a person to need to notice that the question has changed.
func noticeTheQuestion() { pause(seconds: 1.3) }

func pause(seconds: Double) {
    usleep(UInt32(seconds * 1e6))
}

/// Asks again every 20 ms until `condition` holds, for at most `timeout` seconds; answers whether it did.
func eventually(timeout: Double, _ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = secondsNow() + timeout
    while secondsNow() < deadline {
        if try condition() { return true }
        pause(seconds: 0.02)
    }
    return try condition()
}

/// A measured figure, printed so that the test's log shows more than pass or fail.
func report(_ name: String, _ value: String) {
    FileHandle.standardOutput.write(Data("measured: \(name): \(value)\n".utf8))
}

extension Double {
    /// With one decimal.
    var short: String { String(format: "%.1f", self) }
}

/// Whether something else keeps the machine so busy that rates over seconds say little about the program.
func machineIsBusy() -> Bool {
    var loads = [0.0]
    return getloadavg(&loads, 1) == 1 && loads[0] > Double(ProcessInfo.processInfo.activeProcessorCount) * 1.5
}
