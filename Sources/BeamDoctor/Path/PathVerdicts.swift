import BeamCodec
import BeamMedia
import BeamNetwork
import BeamWire
import Glibc

/// What the measured values mean for sharing and watching, in words.
enum PathVerdicts {
    // MARK: Times

    /// A lost part of a picture is requested, and is there one round trip later. Within this that costs hardly more than a
    /// frame at 60 a second (16.7 ms), beyond it every loss is seen, or costs parity. In milliseconds.
    static let goodRoundTrip = 20.0
    /// The viewer holds pictures back by about the jitter, so that they are shown evenly. In milliseconds: beyond this, it
    /// is most of a frame at 60 a second. (`Scripts/netlab`: 30 ms of jitter made a picture 20 ms older.)
    static let goodJitter = 10.0

    static func roundTrip(_ trips: RoundTrips, byTCP: Bool) -> Finding {
        let what = byTCP ? "TCP connections" : "echoes"
        let words =
            "Median \(milliseconds(trips.median)), 95th percentile \(milliseconds(trips.p95)) (\(trips.count) \(what))."
        let figures = PathFigures {
            $0.rttMs = trips.median
            $0.rttP95Ms = trips.p95
        }
        guard trips.median > goodRoundTrip else { return Finding("round trip", .good, words, figures) }
        return Finding(
            "round trip", .improvable,
            "\(words) The picture is older by half of that, and what is lost comes later by all of it. \(remedy)",
            figures)
    }

    static func jitter(_ trips: RoundTrips) -> Finding {
        let words =
            "95 of 100 round trips take at most \(milliseconds(trips.jitter)) longer than the median."
        let figures = PathFigures { $0.jitterMs = trips.jitter }
        guard trips.jitter > goodJitter else { return Finding("jitter", .good, words, figures) }
        return Finding(
            "jitter", .improvable,
            "\(words) A viewer shows each picture about so much later, so that all come evenly. \(remedy) Or turn off the Wi-Fi's "
                + "power saving: `sudo iw dev INTERFACE set power_save off`.", figures)
    }

    private static let remedy =
        "Wi-Fi is the usual reason: use a cable, 5 GHz instead of 2.4, or come nearer to the access point."

    // MARK: Loss

    /// Fewer lost echoes are noise: this is 2 of 100.
    static let goodLoss = 0.02
    /// Both ways together; about 20 % each way, twice what the network lab tests with.
    static let mostLoss = 0.36

    static func loss(_ trips: RoundTrips) -> Finding {
        let figures = PathFigures { $0.loss = trips.loss }
        guard trips.lost > 0 else { return Finding("loss", .good, "All \(trips.count) echoes came back.", figures) }
        let words =
            "\(trips.lost) of \(trips.count) echoes were lost (\(percent(trips.loss))), on the way there or back."
        if trips.loss < goodLoss { return Finding("loss", .good, words, figures) }
        let isTooMuch = trips.loss >= mostLoss
        let consequence =
            isTooMuch
            ? "That is more than BeamRoom is made for: expect pictures that freeze."
            : "Pictures stay whole, but come later, because parts are sent again."
        return Finding("loss", isTooMuch ? .broken : .improvable, "\(words) \(consequence) \(remedy)", figures)
    }

    // MARK: Size

    static func mtu(_ mtu: PathMTU, isV6: Bool, interface: String) -> Finding {
        let figures = PathFigures { if mtu.size > 0 { $0.mtu = mtu.size } }
        let words = "Packets of \(mtu.size) bytes pass"
        guard mtu.size > 0 else {
            return Finding(
                "mtu", .broken,
                "No packet of 576 bytes came back, which every network must carry; small ones did. Look for a firewall that drops "
                    + "large packets, or a tunnel whose MTU is wrong.", figures)
        }
        let needed = MediaLimits.datagramLength + (isV6 ? 48 : 28)
        let datagrams =
            mtu.size >= needed
            ? "BeamRoom's datagrams, of at most \(needed), fit."
            : "BeamRoom's datagrams take \(needed), and are cut shorter here, which costs some per cent of what the path carries."
        let verdict = mtu.size >= needed ? Finding.Verdict.good : .improvable
        switch mtu.limit {
        case .none: return Finding("mtu", .good, "\(words), which is Ethernet's usual size.", figures)
        case .interface:
            return Finding("mtu", verdict, "\(words): \(interface) takes no larger ones. \(datagrams)", figures)
        case .reported:
            return Finding(
                "mtu", verdict, "\(words): a router on the way takes no larger ones, and says so. \(datagrams)", figures
            )
        case .silent:
            return Finding(
                "mtu", .improvable,
                "\(words). Larger ones vanish, and nobody on the way says so (a black hole). \(datagrams) But TCP sends larger ones, "
                    + "so that connections can hang while they are secured. At both ends: "
                    + "`sudo ip link set dev \(interface) mtu \(mtu.size)` (the interface there may have another name).",
                figures)
        }
    }

    // MARK: Rate

    /// To which a share of a desktop of this size is limited unless it is told otherwise, in bits a second.
    static let desktopRate = Double(
        EncoderSettings.defaultBitRate(size: PixelSize(width: 1920, height: 1080), frameRate: 60))

    static func rate(_ rate: TrainRate?) -> Finding {
        guard let rate else {
            return Finding(
                "rate", .improvable,
                "What the path carries can't be estimated: too few of many echoes in a row came back. Either it is very slow, or "
                    + "something on the way, or the machine itself, limits echoes.")
        }
        let (mbit, desktop) = (rate.rate / 1e6, Self.desktopRate / 1e6)
        let figures = PathFigures {
            $0.mbit = mbit
            $0.isAtLeast = rate.isAtLeast
        }
        let words =
            "The path carries \(rate.isAtLeast ? "at least" : "about") \(megabits(mbit)) Mbit/s: an estimate, of the slower direction."
        let need =
            "A 1920x1080 desktop at 60 frames a second takes up to \(megabits(desktop)) Mbit/s while all of it moves"
        // What is at least so much may be enough.
        guard !rate.isAtLeast, rate.rate < desktopRate else {
            return Finding("rate", .good, "\(words) \(need).", figures)
        }
        return Finding(
            "rate", .improvable,
            "\(words) \(need), and much less otherwise. A share adapts: the picture gets coarser, then slower. \(remedy) Or "
                + "share less: `beamroom share --max-size 1280`, or --max-fps 30.", figures)
    }

    /// What couldn't be measured, because everything before took long.
    static func unfinished(_ subject: String) -> Finding {
        Finding(
            subject, .improvable,
            "The time was over before it was known: echoes or the name took long. Try once more, or name the address.")
    }

    // MARK: Numbers

    static func milliseconds(_ value: Double) -> String {
        // Tenths below 10 ms, hundredths below 1 ms.
        let digits = value < 1 ? 2 : value < 10 ? 1 : 0
        return "\(fixed(value, digits)) ms"
    }

    private static func megabits(_ value: Double) -> String { fixed(value, value < 10 ? 1 : 0) }

    private static func percent(_ share: Double) -> String { "\(fixed(share * 100, share < 0.1 ? 1 : 0)) %" }

    private static func fixed(_ value: Double, _ digits: Int) -> String {
        let factor = pow(10, Double(digits))
        let rounded = (value * factor).rounded() / factor
        return rounded == rounded.rounded() ? "\(Int(exactly: rounded.rounded()) ?? .max)" : "\(rounded)"
    }
}
