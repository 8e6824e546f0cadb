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
    func all(_ context: CommandContext) throws -> [Running] { try found(context).running }

    /// - Returns: all that are meant, and how many others didn't answer, which was said.
    private func found(_ context: CommandContext) throws -> (running: [Running], silent: Int) {
        var running: [Running] = []
        var silent = 0
        func doesNotAnswer(_ error: ControlError) {
            silent += 1
            context.say("Warning: \(error).")
        }
        do throws(ControlError) {
            let found = try ControlClient.running()
            for process in found.busy { doesNotAnswer(ControlClient.noAnswer(of: process)) }
            for client in found.clients {
                do throws(ControlError) {
                    let status = try client.ask(["status": .bool(true)])
                    // Otherwise it is ending.
                    if status["event"]?.string == "status" { running.append(Running(client: client, status: status)) }
                } catch {
                    doesNotAnswer(error)
                }
            }
        } catch {
            try context.conclude(.failed("\(error)."))
        }
        guard !running.isEmpty else {
            // That it runs was said.
            guard silent == 0 else { throw ExitStatus(1) }
            try context.conclude(.failed(StatusText.nothingRuns))
            return ([], 0)
        }
        guard let name else { return (running, silent) }
        let called = running.filter { $0.isCalled(name) }
        if called.isEmpty {
            try context.conclude(.failed(StatusText.none(called: name, of: running.map(\.status))))
        }
        return (called, silent)
    }

    /// Sends a line to the only one that is meant, and says why it isn't done if it isn't.
    ///
    /// - Returns: the program.
    func send(_ line: [String: JSONValue], _ context: CommandContext) throws -> Running {
        let (running, silent) = try found(context)
        // Without a name, one that doesn't answer may be the one that is meant.
        guard running.count == 1, let one = running.first, name != nil || silent == 0 else {
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
