import ArgumentParser
import BeamMedia
import BeamTerminal
import BeamWire

/// Which running program a command is for.
struct ControlOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where several run: the name of the one that is meant, or its process number.", valueName: "name|number"))
    var name: String?

    /// A running program, and what it says of itself.
    struct Running {
        var client: ControlClient
        var status: JSONValue

        func isCalled(_ name: String) -> Bool {
            "\(client.process)" == name || status["name"]?.string.map { DeviceNames.areSame($0, name) } == true
                || status["room"]?.string.map { DeviceNames.areSame($0, name) } == true
        }
    }

    /// All that are meant. One that has just ended isn't there.
    ///
    /// - Throws: `ExitStatus`, after the reason was said.
    func all(_ context: CommandContext) throws -> [Running] {
        var running: [Running] = []
        do throws(ControlError) {
            for client in try ControlClient.running() {
                do throws(ControlError) {
                    let status = try client.ask(["status": .bool(true)])
                    // Otherwise it is ending.
                    if status["event"]?.string == "status" { running.append(Running(client: client, status: status)) }
                } catch {
                    context.say("Warning: \(error).")
                }
            }
        } catch {
            try context.conclude(.failed("\(error)."))
        }
        guard !running.isEmpty else {
            try context.conclude(.failed(StatusText.nothingRuns))
            return []
        }
        guard let name else { return running }
        let called = running.filter { $0.isCalled(name) }
        if called.isEmpty {
            try context.conclude(.failed(StatusText.none(called: name, of: running.map(\.status))))
        }
        return called
    }

    /// Sends a line to the only one that is meant, and says why it isn't done if it isn't.
    ///
    /// - Returns: the program.
    func send(_ line: [String: JSONValue], _ context: CommandContext) throws -> Running {
        let running = try all(context)
        guard running.count == 1, let one = running.first else {
            try context.conclude(.failed(StatusText.several(running.map(\.status))))
            throw ExitStatus(1)
        }
        do throws(ControlError) {
            let answer = try one.client.ask(line)
            guard answer["event"]?.string != "done" else { return one }
            let reason = answer["reason"]?.string.map { ShownText.line($0) } ?? "it was refused without a reason"
            try? context.conclude(.failed(StatusText.refused(reason)))
        } catch {
            try context.conclude(.failed("\(error)."))
        }
        throw ExitStatus(1)
    }
}
