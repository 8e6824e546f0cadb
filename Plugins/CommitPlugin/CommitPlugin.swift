import Foundation
import PackagePlugin

/// Writes the commit into a source file of BeamVersion, again whenever another commit is checked out.
///
/// The manifest's `Context.gitInformation` wouldn't do: the package manager keeps what it evaluated, and with it an old
/// commit, until Package.swift changes.
@main
struct CommitPlugin: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let output = context.pluginWorkDirectoryURL.appending(path: "BuiltCommit.swift")
        let repository = repository(of: context.package.directoryURL)
        // Git writes the first when another branch is checked out, the second with each commit, too.
        let inputs = ["HEAD", "logs/HEAD"].map { repository.appending(path: $0) }
        let script = context.package.directoryURL.appending(path: "Scripts/lib/write-commit")
        return [
            .buildCommand(
                displayName: "Writing the commit", executable: script, arguments: [repository.path, output.path],
                inputFiles: inputs.filter { FileManager.default.fileExists(atPath: $0.path) }, outputFiles: [output])
        ]
    }

    /// In a linked working tree `.git` is a file with the line `gitdir: PATH`.
    private func repository(of package: URL) -> URL {
        let git = package.appending(path: ".git")
        guard let line = try? String(contentsOf: git, encoding: .utf8), line.hasPrefix("gitdir: ") else { return git }
        let path = line.dropFirst("gitdir: ".count).trimmingCharacters(in: .whitespacesAndNewlines)
        return URL(filePath: path, relativeTo: package).absoluteURL
    }
}
