import ArgumentParser
import BeamCapture
import BeamSettings
import Foundation

/// Joins the file of settings and the command line, before this is parsed.
struct SettingsJoining {
    private let book: SettingsBook
    private let inForce: SettingsInForce
    private let given: GivenArguments
    private let isInWaylandSession: Bool
    /// With the command's name.
    let arguments: [String]

    /// Nil: no file has a say in these arguments.
    init?(_ arguments: [String]) throws {
        // Most people have no file. Finding out what was given takes as long as parsing it, so it is left out then.
        guard SettingsBook.mayExist || arguments.contains(where: SettingsOptions.isAboutFile) else { return nil }
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

    init(
        _ book: SettingsBook, _ given: GivenArguments, isInWaylandSession: Bool = PortalSource.isInWaylandSession
    ) throws(SettingsError) {
        (self.book, self.given, self.isInWaylandSession) = (book, given, isInWaylandSession)
        inForce = try SettingsInForce(
            book, given.command, profile: given.profile, given: given, isInWaylandSession: isInWaylandSession)
        arguments =
            [given.command.name]
            + inForce.arguments(before: given.rest, hasTerminator: given.hasTerminator)
    }

    /// What the file sets.
    var settings: [Setting] { inForce.settings }

    /// The command, or an error that names the file and the line where the file is at fault.
    @discardableResult func parse() throws -> any ParsableCommand {
        do {
            if let idle = inForce.argumentsOfIdle { _ = try Beamroom.parseAsRoot(idle) }
            return try Beamroom.parseAsRoot(arguments)
        } catch {
            throw blamed(error)
        }
    }

    /// Throws what is wrong with the settings themselves. `relay` can get its host from the command line.
    func check() throws {
        do {
            if let idle = inForce.argumentsOfIdle { _ = try Beamroom.parseAsRoot(idle) }
            _ = try Beamroom.parseAsRoot(arguments + missingHost)
        } catch {
            throw blamed(error)
        }
    }

    private func blamed(_ error: any Error) -> any Error {
        guard Beamroom.exitCode(for: error) == .validationFailure else { return error }
        let message = Beamroom.message(for: error)
        return SettingsBlame(message, inForce, given) { refusesFile(with: message) }.error ?? error
    }

    /// Whether the parser says this also about the file with nothing of the command line but the profile.
    private func refusesFile(with message: String) -> Bool {
        guard let alone = GivenArguments([given.command.name] + (given.profile.map { ["--profile=\($0)"] } ?? [])),
            let joined = try? SettingsJoining(book, alone, isInWaylandSession: isInWaylandSession)
        else { return false }
        return joined.arguments == arguments
            || SettingsBlame.refusal(joined.arguments + joined.missingHost) == message
    }

    /// In the place of an argument that the command can't do without, and the file doesn't have.
    private var missingHost: [String] {
        let needed = given.command.options.filter { $0.kind == .positional && $0.isRequired }.map(\.name)
        return needed.contains { name in !inForce.settings.contains { $0.name == name } } ? ["host"] : []
    }
}

extension SettingsBook {
    /// False: this user surely has no file.
    static var mayExist: Bool {
        guard let path = SettingsFile.usualPath(environment: ProcessInfo.processInfo.environment) else { return false }
        return access(path, F_OK) == 0 || errno != ENOENT
    }

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
