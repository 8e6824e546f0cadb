import Foundation
import Testing

/// `Scripts/attack`, and whether it can run here.
private enum AttackScript {
    static let path = (#filePath as NSString).deletingLastPathComponent + "/../../Scripts/attack"

    /// Nil if the attacks can run here, otherwise what is missing.
    static let obstacle: String? = {
        do {
            try Tool.run(path, ["--no-setup", "--list"])
            return nil
        } catch {
            return "Scripts/attack can't run here (packages python3-cryptography and python3-openssl)"
        }
    }()
}

/// The short form of `Scripts/attack`.
extension EndToEnd {
    @Suite(.needsProgram, .enabled(if: AttackScript.obstacle == nil, "\(AttackScript.obstacle ?? "")"))
    struct AttackTests {
        private struct Results: Decodable {
            struct Row: Decodable {
                var name: String
                var came: String
                var words: String
                var is_well: Bool
            }
            var rows: [Row]
        }

        @Test(.tags(.long)) func noAttackGetsInOrCrashesAnything() throws {
            let scratch = try ScratchDirectory()
            let file = scratch.file("rows.json")
            let attack = try ChildProcess(
                AttackScript.path, ["--no-setup", "--short", "--program", Program.path, "--json", file])
            defer { attack.end() }
            let ending = try attack.waitForEnd(timeout: 600)
            let results = try JSONDecoder().decode(Results.self, from: try Data(contentsOf: URL(fileURLWithPath: file)))
            for row in results.rows {
                #expect(row.is_well, "\(row.name): \(row.came): \(row.words)")
            }
            #expect(results.rows.count > 10)
            #expect(ending == .exited(0), "\(attack.outputText)\n\(attack.errorText)")
        }
    }
}
