/// Which BeamRoom this is.
public enum BeamVersion {
    /// The version, by Semantic Versioning. The only place that has it; the newest version of CHANGELOG.md is the same.
    public static let number = "0.2.0"

    /// The commit that the program was built from, abbreviated. Nil if it was built from sources without a repository.
    /// Whether files were changed since that commit isn't known.
    public static var commit: String? { commit(built: builtCommit, archived: archivedCommit) }

    /// What `--version` prints: `beamroom 0.2.0 (abc1234)`, or `beamroom 0.2.0` without a known commit.
    public static var line: String { line(commit: commit) }

    static func line(commit: String?) -> String {
        "beamroom \(number)" + (commit.map { " (\($0))" } ?? "")
    }

    /// `archived` begins with `$` unless `git archive` made these sources.
    static func commit(built: String, archived: String) -> String? {
        if !built.isEmpty { return built }
        return archived.hasPrefix("$") ? nil : archived
    }
}
