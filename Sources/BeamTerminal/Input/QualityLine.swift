import BeamMedia
import BeamWire

/// What a line of another program says of the most that a viewer wishes to be sent:
/// `{"quality":{"maxSize":1280,"bitRate":2000000,"maxFps":15}}`. What is left out, or `null`, isn't limited.
enum QualityLine {
    typealias Refusal = ProgramActions.Refusal

    static func wish(_ text: [UInt8]) throws(Refusal) -> QualityWish {
        guard let members = (try? ProgramJSON.members(text)) ?? nil else {
            throw Refusal(reason: "`quality` takes an object with `maxSize`, `bitRate` and `maxFps`")
        }
        if let other = members.keys.filter({ !["maxSize", "bitRate", "maxFps"].contains($0) }).min() {
            throw Refusal(
                reason: "`quality` has no member `\(PeerText.name(other))`: it takes `maxSize`, `bitRate` and `maxFps`")
        }
        return QualityWish(
            maxSize: try whole(members, "maxSize", QualityWish.sizes, "pixels"),
            bitRate: try whole(members, "bitRate", QualityWish.bitRates, "bits a second"),
            frameRate: try number(members, "maxFps", QualityWish.frameRates, "frames a second"))
    }

    private static func whole(
        _ members: [String: [UInt8]], _ name: String, _ range: ClosedRange<Int>, _ unit: String
    ) throws(Refusal) -> Int? {
        let bounds = Double(range.lowerBound)...Double(range.upperBound)
        return try number(members, name, bounds, unit).map { Int(clamping: $0) }
    }

    private static func number(
        _ members: [String: [UInt8]], _ name: String, _ range: ClosedRange<Double>, _ unit: String
    ) throws(Refusal) -> Double? {
        guard let text = members[name].map({ String(decoding: $0, as: UTF8.self) }), text != "null" else { return nil }
        guard let value = Double(text), range.contains(value) else {
            let (least, most) = (Int(clamping: range.lowerBound), Int(clamping: range.upperBound))
            throw Refusal(reason: "`\(name)` takes a number from \(least) to \(most), in \(unit), or null")
        }
        return value
    }
}
