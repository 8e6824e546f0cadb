import BeamMetrics
import BeamNetwork
import Foundation
import Testing

@testable import BeamHost
@testable import BeamMedia
@testable import BeamSession
@testable import BeamTerminal
@testable import BeamViewer
@testable import BeamWeb
@testable import BeamWire

/// What `--json`'s `stats` say, as metrics.
struct FigureMetricsTests {
    private let metrics = FigureMetrics(command: "share", version: "1.2.3", commit: nil)

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The lines that begin with this.
    private func lines(_ prefix: String) -> [String] {
        metrics.text.split(separator: "\n").map(String.init).filter { $0.hasPrefix(prefix) }
    }

    private static func viewer(_ session: String, _ name: String?, frames: UInt64 = 1) -> ViewerFigures {
        var figures = ViewerFigures(
            session: session, name: name, address: .v4(0xC000_0207), isEncrypted: true, isBrowser: false, since: .zero)
        figures.frames = frames
        (figures.loss, figures.roundTrip, figures.pathRate) = (0.25, .milliseconds(3), 8000)
        return figures
    }

    private static func host(_ viewers: [ViewerFigures], frames: UInt64 = 10) -> HostReport {
        var report = Sample.report(isFull: true)
        report.session.frames = frames
        report.viewers = viewers
        (report.encode, report.layers[0].quantiser) = (
            LatencyHistogram.Summary(median: 1, p95: 2, max: 4, count: 3, sum: 6), 20
        )
        report.gateways = ["wss://example.org/secret", "wss://example.org/other", "wss://example.org:8989/"].compactMap
        {
            (try? GatewayAddress($0)).map { GatewayFigures($0) }
        }
        return report
    }

    private func share(_ report: HostReport, _ metrics: FigureMetrics) {
        metrics.note(.share(.stats(report, StreamRate(report, since: nil), [])), of: nil)
    }

    private func watch(_ name: String, _ id: String) {
        metrics.note(.watch(.stats(Sample.watched(isFull: true))), of: FigureMetrics.Part(name: name, id: id))
    }

    private func room(_ report: HostReport? = nil) {
        metrics.note(.room(.stats(here: 3, sharing: 2, own: nil, viewers: 0, browsers: 1, report: report)), of: nil)
    }

    /// Everything that there can be.
    private func fill() {
        share(Self.host([Self.viewer("1", "sofa")]), metrics)
        watch("desk", "a")
        var report = Sample.watched(isFull: true)
        report.sound?.statistics.latency = .milliseconds(80)
        report.times = Dictionary(
            uniqueKeysWithValues: FrameSpan.allCases.map {
                ($0, LatencyHistogram.Summary(median: 1, p95: 2, max: 3, count: 2, sum: 3))
            })
        metrics.note(.watch(.stats(report)), of: nil)
        room(Self.host([Self.viewer("1", "sofa")]))
    }

    private func types() -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: lines("# TYPE ").map { line in
                let words = line.split(separator: " ")
                return (String(words[2]), String(words[3]))
            })
    }

    // MARK: What there is

    @Test func eachMetricIsRecordedAsItIsDescribed() {
        fill()
        let described = Dictionary(uniqueKeysWithValues: FigureFamilies.all.map { ($0.name, $0.kind.rawValue) })
        #expect(types() == described)
    }

    @Test func thePageListsEachMetricWithItsType() throws {
        let page = try String(
            contentsOf: Self.root.appending(path: "Sources/beamroom/beamroom.docc/Metrics.md"), encoding: .utf8)
        let rows = page.matches(of: /(?m)^\| `([a-z_]+)` \| (\w+) \|/)
        let listed = Dictionary(uniqueKeysWithValues: rows.map { (String($0.output.1), String($0.output.2)) })
        #expect(listed == Dictionary(uniqueKeysWithValues: FigureFamilies.all.map { ($0.name, $0.kind.rawValue) }))
    }

    /// Grafana's dashboard asks for nothing that isn't there.
    @Test func eachMetricOfTheDashboardIsServed() throws {
        fill()
        let file = Self.root.appending(path: "Packaging/grafana/beamroom.json")
        let object = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
        let dashboard = try #require(object as? [String: Any])
        let panels = try #require(dashboard["panels"] as? [[String: Any]])
        let expressions = panels.flatMap { $0["targets"] as? [[String: Any]] ?? [] }.compactMap {
            $0["expr"] as? String
        }
        #expect(expressions.count > 30)
        let types = types()
        for expression in expressions {
            let names = expression.matches(of: /\b((?:beamroom|process)_[a-z_]+)/).map { String($0.output.1) }
            #expect(!names.isEmpty, "\(expression)")
            for name in names {
                let type = try #require(types[name], "\(name) isn't served: \(expression)")
                // A counter's value means nothing by itself.
                let isRate = expression.contains("rate(\(name){") || expression.contains("increase(\(name){")
                #expect(isRate == (type == "counter"), "\(expression)")
            }
        }
    }

    @Test func itSaysWhatTheEventSays() {
        share(Self.host([Self.viewer("1", "sofa")]), metrics)
        let lines = Set(lines(""))
        for line in [
            "beamroom_build_info{version=\"1.2.3\",commit=\"\",command=\"share\"} 1",
            "beamroom_host_sent_frames_total 10",
            "beamroom_host_path_bytes_per_second 125000",
            "beamroom_host_stage_seconds{stage=\"encode\",quantile=\"0.95\"} 0.002",
            "beamroom_host_stage_seconds_sum{stage=\"encode\"} 0.006",
            "beamroom_host_stage_seconds_count{stage=\"encode\"} 3",
            "beamroom_viewer_loss_ratio{viewer=\"sofa\",number=\"1\"} 0.25",
            "beamroom_viewer_round_trip_seconds{viewer=\"sofa\",number=\"1\"} 0.003",
            "beamroom_viewer_path_bytes_per_second{viewer=\"sofa\",number=\"1\"} 1000",
            // Not their paths, which may be secret.
            "beamroom_host_gateway_viewers{gateway=\"example.org\",number=\"1\"} 0",
            "beamroom_host_gateway_viewers{gateway=\"example.org\",number=\"2\"} 0",
            "beamroom_host_gateway_viewers{gateway=\"example.org:8989\",number=\"1\"} 0",
        ] { #expect(lines.contains(line), "\(line)") }
    }

    @Test func aRelayTellsNothingOfWhatItDoesNotDo() {
        var (host, watched) = (Self.host([]), Sample.watched(isFull: true))
        (host.isPassedOn, watched.isPassedOn) = (true, true)
        share(host, metrics)
        metrics.note(.watch(.stats(watched)), of: nil)
        for name in [
            "host_captured", "host_encoded", "host_replaced", "watch_decoded", "watch_shown", "watch_replaced",
        ] {
            #expect(lines("beamroom_\(name)").isEmpty, "\(name)")
        }
        #expect(lines("beamroom_host_sent_frames_total").count == 1 && lines("beamroom_watch_frames_total").count == 1)
    }

    /// A packet that was merely late is no longer missed; the counter doesn't go back for it, nor begin anew.
    @Test func lateSoundIsCountedOnce() {
        var receiver = SoundReceiver()
        for number in [1, 3, 2, 4, 6, 5] as [UInt32] {
            let time = MediaTime.zero + .milliseconds(10 * Int(number))
            var bytes: [UInt8] = []
            SoundDatagram.appendHead(number: number, time: time, to: &bytes)
            SoundDatagram.append([1], [], to: &bytes)
            #expect(bytes.withUnsafeBytes { receiver.insert($0, now: time) { _ in } })
            var report = Sample.watched(isFull: true)
            report.session.sound = receiver.statistics
            metrics.note(.watch(.stats(report)), of: nil)
        }
        #expect(receiver.statistics.missed == 0)
        let counter = "beamroom_watch_sound_missed_packets_total"
        #expect(lines(counter) == ["\(counter) 2"])
    }

    /// At all addresses it is served at each; the one that is named can be opened.
    @Test func aReachableAddressIsNamed() throws {
        let own = [LocalAddress("192.0.2.7", on: "eth0"), LocalAddress("2001:db8::7", on: "eth0")]
        for (address, place) in [
            ("9464", "http://127.0.0.1:9464/metrics"), ("0.0.0.0:9464", "http://192.0.2.7:9464/metrics"),
            ("[::]:9464", "http://192.0.2.7:9464/metrics"), ("198.51.100.1:1", "http://198.51.100.1:1/metrics"),
        ] {
            let words = MetricsText.serving(try #require(MetricsAddress(address)), own)
            #expect(words.contains(place), "\(words)")
        }
    }

    // MARK: Who comes and goes

    @Test func viewersOfOneNameStayApartAndGo() {
        share(
            Self.host([Self.viewer("1", "sofa", frames: 5), Self.viewer("2", "sofa", frames: 7), Self.viewer("3", nil)]
            ), metrics)
        let frames = "beamroom_viewer_sent_frames_total"
        #expect(
            lines(frames) == [
                "\(frames){viewer=\"sofa\",number=\"1\"} 5", "\(frames){viewer=\"sofa\",number=\"2\"} 7",
                "\(frames){viewer=\"unnamed\",number=\"1\"} 1",
            ])
        // The second keeps its number, and whoever comes next takes the first one's, and begins with nothing of it.
        share(Self.host([Self.viewer("2", "sofa", frames: 8)]), metrics)
        #expect(lines(frames) == ["\(frames){viewer=\"sofa\",number=\"2\"} 8"])
        share(Self.host([Self.viewer("2", "sofa", frames: 9), Self.viewer("4", "sofa", frames: 2)]), metrics)
        #expect(
            lines(frames) == ["\(frames){viewer=\"sofa\",number=\"1\"} 2", "\(frames){viewer=\"sofa\",number=\"2\"} 9"])
        share(Self.host([]), metrics)
        #expect(!metrics.text.contains("viewer=\""))
    }

    @Test func countersGoOnWhenTheHostBeginsAnew() {
        for frames in [10, 30, 4, 6] as [UInt64] {
            share(Self.host([Self.viewer("1", "sofa", frames: frames)], frames: frames), metrics)
        }
        #expect(lines("beamroom_host_sent_frames_total") == ["beamroom_host_sent_frames_total 36"])
        #expect(lines("beamroom_viewer_sent_frames_total{").first?.hasSuffix(" 36") == true)
    }

    @Test func viewersAreBounded() {
        let crowd = (0..<1000).map { Self.viewer("\($0)", "viewer \($0)") }
        share(Self.host(crowd), metrics)
        #expect(lines("beamroom_viewer_watching{").count == HostMetrics.mostListed)
        #expect(lines("beamroom_host_unlisted_viewers") == ["beamroom_host_unlisted_viewers 744"])
        // Those that were listed stay; others come in as these leave.
        share(Self.host(Array(crowd.dropFirst(100))), metrics)
        #expect(lines("beamroom_viewer_watching{").count == HostMetrics.mostListed)
        #expect(lines("beamroom_host_unlisted_viewers") == ["beamroom_host_unlisted_viewers 644"])
        #expect(metrics.text.contains("viewer=\"viewer 100\"") && !metrics.text.contains("viewer=\"viewer 99\""))
    }

    /// A name with all that the format could stumble over stays within its label.
    @Test func aHostileNameStaysInItsLabel() {
        let name = PeerText.name("\"} 1\nbeamroom_host_viewers 99\n#\\")
        share(Self.host([Self.viewer("1", name)]), metrics)
        #expect(lines("beamroom_host_viewers") == ["beamroom_host_viewers 0"])
        for line in lines("beamroom_viewer_") {
            #expect(line.contains(/^\w+\{viewer="(?:[^"\\]|\\.)*",number="1"\} \S+$/), "\(line)")
        }
    }

    @Test func whoIsWatchedNoMoreInARoomGoes() {
        watch("desk", "key 1")
        watch("desk", "key 2")
        room(Self.host([Self.viewer("1", "sofa")]))
        let frames = "beamroom_watch_decoded_frames_total"
        #expect(
            lines(frames) == ["\(frames){host=\"desk\",number=\"1\"} 1", "\(frames){host=\"desk\",number=\"2\"} 1"])
        #expect(lines("beamroom_room_members") == ["beamroom_room_members 3"])
        // The second is watched on, and the own share has ended.
        watch("desk", "key 2")
        room()
        #expect(lines(frames) == ["\(frames){host=\"desk\",number=\"2\"} 1"])
        #expect(lines("beamroom_host_").isEmpty && lines("beamroom_viewer_").isEmpty)
    }
}
