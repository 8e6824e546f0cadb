import Glibc

/// Whether a group is one user's own, as most distributions make one for each user: new files can be writable for it then,
/// which lets nobody else write.
enum PrivateGroup {
    /// A user of the system, and the group that its files get.
    struct Account {
        var user: uid_t
        var name: String
        var group: gid_t
    }

    /// Whether `owner` is the only member: no other user's files get this group, and it lists nobody else. (So does Debian's
    /// OpenSSH judge a file of keys.)
    ///
    /// - Parameters:
    ///   - members: the names that the group lists.
    ///   - accounts: all users.
    static func isPrivate(_ group: gid_t, of owner: uid_t, members: [String], accounts: [Account]) -> Bool {
        let inGroup = accounts.filter { $0.group == group || members.contains($0.name) }
        let known = Set(accounts.map(\.name))
        return !inGroup.isEmpty && inGroup.allSatisfy { $0.user == owner } && known.isSuperset(of: members)
    }

    /// By the system's lists of users and groups. The group must have its owner's name, too: a directory in the network may
    /// not list all its users. Not for two threads at a time.
    static func isPrivate(_ group: gid_t, of owner: uid_t) -> Bool {
        guard let entry = getgrgid(group), let name = entry.pointee.gr_name.map({ String(cString: $0) }) else {
            return false
        }
        var members: [String] = []
        var next = entry.pointee.gr_mem
        while let member = next?.pointee {
            members.append(String(cString: member))
            next = next?.successor()
        }
        let accounts = accounts()
        return accounts.contains { $0.user == owner && $0.name == name }
            && isPrivate(group, of: owner, members: members, accounts: accounts)
    }

    private static func accounts() -> [Account] {
        var accounts: [Account] = []
        setpwent()
        defer { endpwent() }
        while let entry = getpwent() {
            let account = entry.pointee
            accounts.append(
                Account(
                    user: account.pw_uid, name: account.pw_name.map { String(cString: $0) } ?? "",
                    group: account.pw_gid))
        }
        return accounts
    }
}
