import ArgumentParser
import BeamSettings
import Foundation

/// Joins the file of settings and the command line, before this is parsed.
struct SettingsJoining {
    private let inForce: SettingsInForce
    private let given: GivenArguments
    /// With the command's name.
    let arguments: [String]

    /// Nil: no file has a say in these arguments.
    init?(_ arguments: [String]) throws {
        guard let given = GivenArguments(arguments) else { return nil }
        try given.checkUnset()
        guard let book = try SettingsBook.ofThisUser() else {
            guard let profile = given.profile else { return nil }
            throw SettingsError(
                "There is no file of settings, and so no profile “\(SettingsBook.Place.shown(profile))”. "
                    + "`beamroom config --path` says where it belongs, `beamroom config --example` what it can hold.",
                status: 64)
        }
        try self.init(book, given)
    }

    init(_ book: SettingsBook, _ given: GivenArguments) throws(SettingsError) {
        self.given = given
        inForce = try SettingsInForce(
            book, given.command, profile: given.profile, given: given.names, unset: given.unset)
        arguments =
            [given.command.name]
            + inForce.arguments(before: given.rest, hasTerminator: given.hasTerminator)
    }

    /// What the file sets.
    var settings: [Setting] { inForce.settings }

    /// Whether the file's setting of this option is in force.
    func sets(_ name: String) -> Bool { inForce.settings.contains { $0.name == name } }

    /// The command, or an error that names the file and the line where the file is at fault. `more`: arguments at the end.
    @discardableResult func parse(adding more: [String] = []) throws -> any ParsableCommand {
        do {
            return try Beamroom.parseAsRoot(arguments + more)
        } catch {
            guard Beamroom.exitCode(for: error) == .validationFailure,
                let blamed = SettingsBlame(Beamroom.message(for: error), inForce, given).error
            else { throw error }
            throw blamed
        }
    }
}

extension SettingsBook {
    /// Nil: this user has no file.
    static func ofThisUser() throws(SettingsError) -> SettingsBook? {
        let environment = ProcessInfo.processInfo.environment
        guard let path = SettingsFile.usualPath(environment: environment) else { return nil }
        let file: SettingsFile?
        do throws(SettingsFileError) {
            file = try SettingsFile(path: path)
        } catch {
            throw SettingsError(error.description)
        }
        guard let file else { return nil }
        return try SettingsBook(file, home: SettingsFile.home(environment: environment))
    }
}
