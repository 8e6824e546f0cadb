import Testing

@testable import beamroom

struct HelpTests {
    /// A line of help is as long as the next word allows.
    @Test(arguments: [60, 80, 120]) func helpIsNotRagged(columns: Int) {
        let helps = [
            ShareCommand.helpMessage(columns: columns), WatchCommand.helpMessage(columns: columns),
            RoomCommand.helpMessage(columns: columns), HostsCommand.helpMessage(columns: columns),
            DevicesCommand.helpMessage(columns: columns), MeasureCommand.helpMessage(columns: columns),
            PatternCommand.helpMessage(columns: columns), RelayCommand.helpMessage(columns: columns),
            ConfigCommand.helpMessage(columns: columns), DoctorCommand.helpMessage(columns: columns),
        ]
        for help in helps {
            let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
            for (line, next) in zip(lines, lines.dropFirst()) where !line.isEmpty && !next.isEmpty {
                #expect(line.count <= columns, "\(line)")
                let indent = next.prefix { $0 == " " }.count
                // An option or a section begins anew, and so does a long option's text.
                let begins = next.hasPrefix("  ") && indent < 26 || line.hasSuffix(":") || line.hasSuffix(">")
                guard !begins, let word = next.split(separator: " ").first else { continue }
                #expect(line.count + 1 + word.count >= columns, "\(line)\n\(next)")
            }
        }
    }
}
