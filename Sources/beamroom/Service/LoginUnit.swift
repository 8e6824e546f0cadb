import Foundation

/// The systemd user unit that runs a command of this program in each graphical session.
///
/// It is named after the application's ID: a desktop's portal knows the application by it, and keeps a person's consent
/// for it (systemd, "Desktop Environment Integration").
struct LoginUnit {
    /// What the unit is for, in systemd's lists.
    var description: String
    /// The program's absolute path.
    var program: String
    /// With the command's name.
    var arguments: [String]
    /// Where relative paths begin, also those in a person's commands.
    var folder: String
    /// Whether this user's systemd can give it name spaces of its own. Some machines don't let users have any.
    var hasNameSpaces: Bool

    static let application = "org.beamroom.BeamRoom"
    static let name = "app-\(application).service"

    var text: String {
        """
        # Written by `beamroom share --at-login`. `beamroom share --at-login off` removes it.

        [Unit]
        Description=\(description)
        Documentation=man:beamroom(1)
        PartOf=graphical-session.target
        After=graphical-session.target
        ConditionFileIsExecutable=\(Self.escaped(program))
        StartLimitIntervalSec=10min
        StartLimitBurst=30

        [Service]
        Type=notify
        NotifyAccess=main
        ExecStart=\(([program] + arguments).map(Self.quoted).joined(separator: " "))
        ExecReload=/bin/kill -HUP $MAINPID
        WorkingDirectory=-\(Self.escaped(folder))
        # The desktop may ask the person before anything is shared.
        TimeoutStartSec=infinity
        # The person's own commands have 10 s at the end.
        TimeoutStopSec=20
        WatchdogSec=60
        Restart=on-failure
        RestartSec=5
        # Wrong usage stays wrong.
        RestartPreventExitStatus=64
        KillMode=mixed
        UMask=0077
        NoNewPrivileges=yes
        LockPersonality=yes
        RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
        RestrictNamespaces=yes
        RestrictSUIDSGID=yes
        SystemCallArchitectures=native
        \((hasNameSpaces ? Self.inNameSpaces : []).map { $0 + "\n" }.joined())
        [Install]
        WantedBy=graphical-session.target

        """
    }

    /// What needs name spaces. A user's systemd has them only together with one of users.
    static let inNameSpaces = [
        "PrivateUsers=yes", "ProtectSystem=full", "ProtectControlGroups=yes", "ProtectKernelLogs=yes",
        "ProtectKernelModules=yes", "ProtectKernelTunables=yes",
    ]

    /// A word of a command line in a unit (systemd.service(5), "Command lines").
    private static func quoted(_ word: String) -> String {
        let inner = escaped(word).map { character in
            switch character {
            case "\\": "\\\\"
            case "\"": "\\\""
            case "$": "$$"
            case "\n": "\\n"
            default: String(character)
            }
        }
        return "\"\(inner.joined())\""
    }

    /// Percent signs begin specifiers in every setting (systemd.unit(5), "Specifiers").
    private static func escaped(_ text: String) -> String { text.replacing("%", with: "%%") }
}
