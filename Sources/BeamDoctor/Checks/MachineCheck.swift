import BeamMedia
import CBeamMachine
import Glibc

/// The machine's scheduler and its clock.
enum MachineCheck {
    static func priority() -> Finding {
        switch ThreadPriority.tryAll() {
        case .realTime:
            return Finding(
                "priority", .good, "Sound and pictures may go first when the machine is busy (real-time priority).")
        case .raised:
            return Finding(
                "priority", .good, "Pictures may go first when the machine is busy; sound has no real-time priority.")
        case .usual:
            return Finding(
                "priority", .improvable,
                "On a busy machine pictures and sound wait like any other program. Let your user raise priorities: a file in "
                    + "/etc/security/limits.d with the lines `@video - nice -10` and `@video - rtprio 10`, if you are in the group "
                    + "video; log in again afterwards.")
        }
    }

    static func clock() -> Finding { clock(isSynchronised: isSynchronised, now: time(nil)) }

    /// - Parameters:
    ///   - isSynchronised: nil: the system doesn't say.
    ///   - now: seconds since 1970.
    static func clock(isSynchronised: Bool?, now: Int) -> Finding {
        // Certificates that are made today would count as not yet valid elsewhere.
        guard now > oldestDay else {
            return Finding(
                "clock", .broken,
                "The clock is years behind, so that browsers take no certificate of this machine. Set it: `timedatectl set-ntp true`."
            )
        }
        guard isSynchronised == false else {
            return Finding(
                "clock", .good, isSynchronised == nil ? "The clock's time is plausible." : "The clock is in step.")
        }
        return Finding(
            "clock", .improvable,
            "Nothing keeps the clock in step with others, so that times of messages and recordings may be wrong: "
                + "`timedatectl set-ntp true`.")
    }

    /// The start of 2026.
    private static let oldestDay = 1_767_225_600

    private static var isSynchronised: Bool? {
        let answer = beam_clock_is_synchronised()
        return answer < 0 ? nil : answer == 1
    }
}
