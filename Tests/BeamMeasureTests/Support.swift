import BeamMedia
import Foundation

@testable import BeamCapture
@testable import BeamMeasure

extension MeasureRecord {
    /// A plausible record.
    static func sample(
        _ cell: String = "1280x720@60 scroll 10M", repetition: Int = 1, latency: Double = 8, fps: Double = 60
    ) -> MeasureRecord {
        MeasureRecord(
            cell: cell, repetition: repetition, date: "2026-01-02T03:04:05Z",
            conditions: Conditions(
                width: 1280, height: 720, framesPerSecond: 60, content: "scroll", bitRate: 10_000_000, seconds: 8,
                encoder: "libx264", host: nil, hasWindow: false),
            machine: Machine(
                processor: "Processor", cores: 2, memoryMB: 8000, system: "System", kernel: "6.1", beamroom: "0.1.0"),
            latencyMs: [
                "capture": Times(median: 0.4, p95: 0.6, max: 2), "encode": Times(median: 5, p95: 8, max: 12),
                "decode": Times(median: 1.5, p95: 2, max: 9),
                "captureToPicture": Times(median: latency, p95: 11, max: 30),
            ],
            latencySeconds: 6,
            totalMs: Total(median: latency, p95: 11, max: 30, from: "captureToPicture"), clockErrorMs: nil,
            firstFrameMs: 40,
            delivery: Delivery(
                framesPerSecond: fps, expectedFramesPerSecond: 60, frames: 480, sentFrames: 481, replaced: 0,
                dropped: 0,
                datagrams: 4000, lostDatagrams: 1, kilobitsPerSecond: 5000, stalls: 0),
            quality: Quality(
                psnr: .init(mean: 44.2, median: 44.3, min: 41), ssim: .init(mean: 0.98, median: 0.981, min: 0.97),
                compared: 100, delivered: 120),
            sound: Sound(
                latencyMs: Times(median: 21.5, p95: 24, max: 24), skewMs: nil, bufferMs: 6, concealed: 0.001,
                packets: 320, lostPackets: 1,
                recorded: .init(
                    expectedBursts: 5, foundBursts: 5, comparedBursts: 4, medianSkewMs: -0.4, p95SkewMs: 1.2,
                    maxSkewMs: 1.2)),
            host: Usage(processorPercent: 50, peakMemoryMB: 105), viewer: Usage(processorPercent: 12, peakMemoryMB: 75),
            othersPercent: 1)
    }
}

/// A temporary directory, removed in `deinit`.
final class ScratchDirectory {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "beamroom-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }

    func write(_ data: Data, to name: String) throws -> String {
        try data.write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }
}

/// Runs a program to its end. Returns its output and errors.
func run(_ command: String..., in directory: String) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = command
    process.currentDirectoryURL = URL(fileURLWithPath: directory)
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: output, as: UTF8.self)
}

func isInstalled(_ program: String) -> Bool {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
        FileManager.default.isExecutableFile(atPath: $0 + "/" + program)
    }
}

/// Encodes pictures as YUV4MPEG2.
func y4m(_ buffers: [PixelBuffer], frameRate: Int = 30) -> Data {
    guard let size = buffers.first?.size else { return Data() }
    var data = Data("YUV4MPEG2 W\(size.width) H\(size.height) F\(frameRate):1 Ip A1:1 C420jpeg\n".utf8)
    for buffer in buffers {
        data += Data("FRAME\n".utf8)
        for plane in 0..<3 {
            let (rowBytes, rows) = buffer.format.plane(plane, of: size)
            for row in 0..<rows {
                data.append(
                    (buffer.planes[plane].base + row * buffer.planes[plane].stride).assumingMemoryBound(to: UInt8.self),
                    count: rowBytes)
            }
        }
    }
    return data
}

extension PixelBuffer {
    /// A copy whose luma is changed sample by sample, except for the code's rows.
    func changed(from top: Int, _ change: (UInt8, _ x: Int, _ y: Int) -> UInt8) -> PixelBuffer {
        let copy = PixelBuffer(format: format, size: size)
        PatternCanvas(copy).copy(PixelRect(size), from: self)
        for y in top..<size.height {
            let row = (copy.planes[0].base + y * copy.planes[0].stride).assumingMemoryBound(to: UInt8.self)
            for x in 0..<size.width { row[x] = change(row[x], x, y) }
        }
        return copy
    }
}
