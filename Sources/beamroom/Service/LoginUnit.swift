import Foundation

/// The systemd user unit that runs a command of this program in each graphical session.
struct LoginUnit {
    var command: LoginCommand
    /// The program's absolute path.
    var program: String
    /// With the command's name.
    var arguments: [String]
    /// Where relative paths begin, also those in a person's commands.
    var folder: String
    /// Whether this user's systemd can give it name spaces of its own. Some machines don't let users have any.
    var hasNameSpaces: Bool

    var text: String {
        """
        # Written by `beamroom \(command.words) --at-login`. `beamroom \(command.words) --at-login off` removes it.

        [Unit]
        Description=\(command.purpose)
        Documentation=man:beamroom(1)
        PartOf=graphical-session.target
        After=graphical-session.target
        ConditionFileIsExecutable=\(Self.escaped(program))
        StartLimitIntervalSec=1h
        StartLimitBurst=30

        [Service]
        Type=notify
        NotifyAccess=main
        ExecStart=\(([program] + arguments).map(Self.quoted).joined(separator: " "))
        ExecReload=/bin/kill -HUP $MAINPID
        WorkingDirectory=-\(Self.escaped(folder))
        # \(waiting)
        TimeoutStartSec=infinity
        # \(ending)
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
        \((ofCommand + (hasNameSpaces ? Self.inNameSpaces : [])).map { $0 + "\n" }.joined())
        [Install]
        WantedBy=graphical-session.target

        """
    }

    /// Why it may take any time to start.
    private var waiting: String {
        switch command {
        case .share: "The desktop may ask the person before anything is shared."
        case .receiver: "The display may not answer yet: it is awaited."
        }
    }

    /// Why it may take some time to end.
    private var ending: String {
        switch command {
        case .share: "The person's own commands have 10 s at the end."
        case .receiver: "Whoever sends is told of the end."
        }
    }

    /// A receiver runs no commands of a person's, so that no call is taken from those. Memory that is written and run is
    /// left to it, as drivers of graphics make programs; so are real-time threads, which sound needs.
    private var ofCommand: [String] {
        switch command {
        case .share: []
        case .receiver:
            [
                "SystemCallFilter=~@clock @cpu-emulation @module @mount @obsolete @raw-io @reboot @swap",
                "SystemCallErrorNumber=EPERM",
            ]
        }
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
