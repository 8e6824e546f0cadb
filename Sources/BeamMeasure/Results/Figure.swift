/// A figure by which results are reported, drawn and compared.
public enum Figure: String, CaseIterable, Sendable {
    case latency, latencyP95, framesPerSecond, lost, bitRate, psnr, ssim, processor, hostMemory, viewerMemory
    case firstFrame, soundLatency, soundSkew

    /// A table heading.
    public var title: String {
        switch self {
        case .latency: "Latency"
        case .latencyP95: "p95"
        case .framesPerSecond: "Frames"
        case .lost: "Lost"
        case .bitRate: "Bit rate"
        case .psnr: "PSNR"
        case .ssim: "SSIM"
        case .processor: "CPU"
        case .hostMemory: "Host"
        case .viewerMemory: "Viewer"
        case .firstFrame: "First"
        case .soundLatency: "Sound"
        case .soundSkew: "Skew"
        }
    }

    public var unit: String {
        switch self {
        case .latency, .latencyP95, .firstFrame, .soundLatency, .soundSkew: "ms"
        case .framesPerSecond: "/s"
        case .lost: "%"
        case .bitRate: "Mbit/s"
        case .psnr: "dB"
        case .ssim: ""
        case .processor: "%"
        case .hostMemory, .viewerMemory: "MB"
        }
    }

    /// Significant decimals.
    public var decimals: Int {
        switch self {
        case .ssim: 4
        case .lost, .latency, .latencyP95, .bitRate, .psnr, .framesPerSecond, .soundLatency, .soundSkew: 1
        case .firstFrame, .processor, .hostMemory, .viewerMemory: 0
        }
    }

    /// Whether lower is better; nil if it depends.
    public var lessIsBetter: Bool? {
        switch self {
        case .latency, .latencyP95, .lost, .processor, .hostMemory, .viewerMemory, .firstFrame, .soundLatency,
            .soundSkew:
            true
        case .framesPerSecond, .psnr, .ssim: false
        case .bitRate: nil
        }
    }

    /// PSNR, SSIM, loss and the sound's figures, which may be near zero, are compared by difference, other figures by ratio.
    public var isComparedByDifference: Bool {
        switch self {
        case .psnr, .ssim, .lost, .soundLatency, .soundSkew: true
        default: false
        }
    }

    /// Nil if the record doesn't have it.
    public func value(in record: MeasureRecord) -> Double? {
        switch self {
        case .latency: record.totalMs?.median
        case .latencyP95: record.totalMs?.p95
        case .framesPerSecond: record.delivery.framesPerSecond
        case .lost:
            100 * Double(record.delivery.lostDatagrams)
                / Double(max(1, record.delivery.datagrams + record.delivery.lostDatagrams))
        case .bitRate: record.delivery.kilobitsPerSecond / 1000
        case .psnr: record.quality?.psnr.mean
        case .ssim: record.quality?.ssim.mean
        case .processor: record.viewer.processorPercent + (record.host?.processorPercent ?? 0)
        case .hostMemory: record.host?.peakMemoryMB
        case .viewerMemory: record.viewer.peakMemoryMB
        case .firstFrame: record.firstFrameMs
        case .soundLatency: record.sound?.latencyMs?.median
        case .soundSkew: record.sound?.recorded?.p95SkewMs
        }
    }

    public func values(in records: [MeasureRecord]) -> [Double] { records.compactMap { value(in: $0) } }

    public func text(_ value: Double) -> String { Number.text(value, decimals: decimals) }
}

/// Formats numbers for people.
enum Number {
    static func text(_ value: Double, decimals: Int) -> String {
        guard value.isFinite, abs(value) < 1e15 else { return "–" }
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        let rounded = Int((abs(value) * scale).rounded())
        let sign = value < 0 && rounded > 0 ? "-" : ""
        guard decimals > 0 else { return sign + String(rounded) }
        let digits = String(rounded)
        let padded = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
        return sign + padded.dropLast(decimals) + "." + padded.suffix(decimals)
    }
}

/// The records of one cell, in the order of measurement.
public struct CellResults: Equatable, Sendable {
    public var cell: String
    public var records: [MeasureRecord]

    /// Cells are in the order of their first record.
    public static func grouped(_ records: [MeasureRecord]) -> [CellResults] {
        var order: [String] = []
        var groups: [String: [MeasureRecord]] = [:]
        for record in records {
            if groups[record.cell] == nil { order.append(record.cell) }
            groups[record.cell, default: []].append(record)
        }
        return order.map { CellResults(cell: $0, records: groups[$0] ?? []) }
    }

    /// Over the repetitions that have the figure.
    public func spread(_ figure: Figure) -> Spread? { Spread(figure.values(in: records)) }

    /// The median of the repetitions' medians of a stage, in milliseconds.
    public func stage(_ name: String) -> Double? { Spread(records.compactMap { $0.latencyMs[name]?.median })?.median }
}
