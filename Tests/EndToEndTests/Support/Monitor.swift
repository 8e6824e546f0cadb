import Foundation

/// A value that threads share; each change wakes the threads that wait. `@unchecked Sendable`: `value` is used only
/// with `condition` held.
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

    /// Calls `body` at once and after every change until it answers a value, for at most `timeout` seconds.
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

/// An error of the test tools. Its description is shown in the test's failure.
struct HarnessError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }

    /// `description`, with the last system call's error.
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

/// Waits longer than the 1 s for which the program ignores answers to a new question.
func noticeTheQuestion() { pause(seconds: 1.3) }

func pause(seconds: Double) {
    usleep(UInt32(seconds * 1e6))
}

/// Checks `condition` every 20 ms for at most `timeout` seconds. Answers whether it held.
func eventually(timeout: Double, _ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = secondsNow() + timeout
    while secondsNow() < deadline {
        if try condition() { return true }
        pause(seconds: 0.02)
    }
    return try condition()
}

/// Prints a measured figure, so that the log shows more than pass or fail.
func report(_ name: String, _ value: String) {
    FileHandle.standardOutput.write(Data("measured: \(name): \(value)\n".utf8))
}

extension Double {
    /// With one decimal.
    var short: String { String(format: "%.1f", self) }
    /// In thousandths, without decimals.
    var milli: String { String(format: "%.0f", self * 1000) }
}

/// How long running programs wait for a processor: while others use the machine, rates say little about the program.
struct ProcessorWait {
    /// Seconds in each second. Hosts on two busy processors whose threads waited for 0.2 to 1.0 s together reached 95 % of
    /// their rate and more, with 1.5 s 91 %, with 1.9 s 73 %, and with 2.3 s 62 %.
    static let most = 1.0

    private let programs: [ProgramProcess]
    private let start = secondsNow()
    private var waited = 0.0

    /// Begins to measure. The programs must run until the last call of `eachSecond`.
    init(of programs: ProgramProcess...) throws {
        self.programs = programs
        waited = try total()
    }

    /// Seconds in each second since the beginning, of a program's threads together, on average over the programs.
    func eachSecond() throws -> Double {
        try (total() - waited) / (secondsNow() - start) / Double(programs.count)
    }

    private func total() throws -> Double { try programs.reduce(0) { try $0 + $1.process.waitingSeconds() } }
}
