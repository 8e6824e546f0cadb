import BeamClock
import BeamMedia
import Foundation
import Testing

@testable import BeamCapture

/// Each on its own X server, one at a time, because the system lists shared memory segments per process.
@Suite(.serialized, .enabled(if: X11TestServer.isAvailable, "Xvfb isn't installed")) enum X11Tests {}

/// A screen with known content.
struct X11Scene: CustomTestStringConvertible {
    let server: X11TestServer
    let painter: X11Painter
    var canvas: X11Canvas

    var testDescription: String { server.display }

    init(width: Int = 640, height: Int = 480, depth: Int = 24, without: [String] = []) throws {
        server = try X11TestServer(width: width, height: height, depth: depth, without: without)
        painter = try X11Painter(server.display)
        canvas = X11Canvas(PixelSize(width: width, height: height))
        paint(PixelRect(canvas.size), 0x20_40_60)
        paint(PixelRect(x: width / 4, y: height / 4, width: width / 2, height: height / 3), 0xc0_30_10)
    }

    mutating func paint(_ rect: PixelRect, _ colour: UInt32) {
        painter.fill(rect, colour)
        canvas.fill(rect, colour)
    }

    func options(_ area: X11Options.Area = .screen, cursor: Bool = false, rate: Double = 60) -> X11Options {
        X11Options(display: server.display, area: area, drawsCursor: cursor, maxFrameRate: rate)
    }
}

extension X11Tests {
    @Suite struct Screen {
        @Test func theWholePictureComesFirstThenWhatChanges() throws {
            var scene = try X11Scene()
            let source = try X11Source(scene.options())
            #expect(source.info.size == PixelSize(width: 640, height: 480))
            #expect(source.info.description == "display \(scene.server.display), the whole screen")
            #expect(source.info.warnings == [])
            let recording = X11Recording(source)
            defer { recording.stop() }
            #expect(recording.wait(for: scene.canvas))
            #expect(recording.shots.first?.damage == DamageRegion(PixelRect(scene.canvas.size)))

            // Narrow, wide, a single pixel, and at the edges.
            for rect in [
                PixelRect(x: 100, y: 50, width: 20, height: 30), PixelRect(x: 0, y: 200, width: 640, height: 3),
                PixelRect(x: 639, y: 479, width: 1, height: 1), PixelRect(x: 0, y: 0, width: 400, height: 1),
                PixelRect(x: 0, y: 0, width: 1, height: 480),
            ] {
                scene.paint(rect, UInt32.random(in: 0...0xff_ffff))
                #expect(recording.wait(for: scene.canvas))
                #expect(recording.shots.last?.damage == DamageRegion(rect))
            }
            #expect(recording.shots.map(\.number) == Array(0..<6))
        }

        @Test func damageCoversEveryDifference() throws {
            var scene = try X11Scene()
            let recording = X11Recording(try X11Source(scene.options(rate: 1000)))
            defer { recording.stop() }
            #expect(recording.wait(for: scene.canvas))
            for _ in 0..<300 {
                let rect = PixelRect(
                    x: .random(in: 0..<600), y: .random(in: 0..<440), width: .random(in: 1...200),
                    height: .random(in: 1...100)
                ).intersection(PixelRect(scene.canvas.size))
                scene.paint(rect, .random(in: 0...0xff_ffff))
            }
            #expect(recording.wait(for: scene.canvas))
            let shots = recording.shots
            for (older, newer) in zip(shots, shots.dropFirst()) {
                let bounds = newer.damage.rects
                for y in 0..<480 {
                    for x in 0..<640 where older.canvas[x, y] != newer.canvas[x, y] {
                        let pixel = PixelRect(x: x, y: y, width: 1, height: 1)
                        guard bounds.contains(where: { $0.contains(pixel) }) else {
                            Issue.record("picture \(newer.number) differs at \(x), \(y), outside its damage")
                            return
                        }
                    }
                }
            }
        }

        @Test func aStillScreenDeliversNothing() throws {
            let scene = try X11Scene()
            let recording = X11Recording(try X11Source(scene.options(cursor: true)))
            defer { recording.stop() }
            #expect(recording.wait { !$0.isEmpty })
            recording.settle()
            let count = recording.shots.count
            Thread.sleep(forTimeInterval: 1)
            #expect(recording.shots.count == count)
        }

        @Test func nothingIsCapturedWhileNobodyWatches() throws {
            var scene = try X11Scene()
            let recording = X11Recording(try X11Source(scene.options()), isActive: false)
            defer { recording.stop() }
            scene.paint(PixelRect(x: 5, y: 5, width: 50, height: 50), 0xff_ffff)
            recording.settle()
            #expect(recording.shots.isEmpty)

            recording.source.setActive(true)
            #expect(recording.wait(for: scene.canvas))
            recording.source.setActive(false)
            recording.settle()
            let count = recording.shots.count
            scene.paint(PixelRect(x: 300, y: 5, width: 50, height: 50), 0xff_ff00)
            recording.settle()
            #expect(recording.shots.count == count)

            // Reactivated: the whole picture, although only a part of it is new.
            recording.source.setActive(true)
            #expect(recording.wait(for: scene.canvas))
            #expect(recording.shots.last?.damage == DamageRegion(PixelRect(scene.canvas.size)))
            // Also delivered at once if nothing has changed.
            recording.source.setActive(false)
            recording.settle()
            recording.source.setActive(true)
            #expect(recording.wait { $0.count == count + 2 })
        }

        @Test func theFrameRateIsNotExceeded() throws {
            var scene = try X11Scene()
            let start = MediaTime.now
            let recording = X11Recording(try X11Source(scene.options(rate: 10)))
            defer { recording.stop() }
            for step in 0..<400 {
                scene.paint(PixelRect(x: step, y: 10, width: 40, height: 40), UInt32(step * 1000))
                Thread.sleep(forTimeInterval: 0.003)
            }
            #expect(recording.wait(for: scene.canvas))
            // One at once, one from saved-up credit, then one per tenth of a second; and possibly one sooner after a
            // late one.
            #expect(Double(recording.shots.count) <= (MediaTime.now - start).inSeconds * 10 + 3)
            #expect(recording.shots.count > 3)
        }

        @Test func picturesInUseAreNotOverwritten() throws {
            var scene = try X11Scene()
            let recording = X11Recording(try X11Source(scene.options(rate: 500)), holdsPictures: true)
            defer { recording.stop() }
            #expect(recording.wait { !$0.isEmpty })
            // At least this many changes, and more until every buffer is in use.
            for step in 0..<600 where step < 20 || recording.shots.count < FrameStore.limit {
                scene.paint(
                    PixelRect(x: step % 40 * 30, y: 100, width: 30, height: 30), UInt32(step * 0x0b0b0b & 0xFF_FFFF))
                Thread.sleep(forTimeInterval: 0.02)
            }
            recording.settle()
            scene.paint(PixelRect(x: 7, y: 300, width: 50, height: 50), 0x12_34_56)
            recording.settle()
            // While every buffer is held nothing is grabbed. After a release, the newest picture is delivered.
            #expect(recording.shots.count == FrameStore.limit)
            recording.release()
            #expect(recording.wait(for: scene.canvas))
            #expect(recording.shots.count == FrameStore.limit + 1)
        }

        @Test func oddSizesAreCaptured() throws {
            var scene = try X11Scene(width: 1367, height: 769)
            let recording = X11Recording(try X11Source(scene.options()))
            defer { recording.stop() }
            #expect(recording.wait(for: scene.canvas))
            scene.paint(PixelRect(x: 1300, y: 700, width: 67, height: 69), 0x11_22_33)
            #expect(recording.wait(for: scene.canvas))
        }

        @Test func stopEndsAWaitAndPreventsALaterRun() throws {
            let scene = try X11Scene()
            let resting = X11Recording(try X11Source(scene.options()), isActive: false)
            #expect(resting.stop() == nil)
            let stopped = try X11Source(scene.options())
            stopped.stop()
            #expect(X11Recording(stopped).waitForEnd() == nil)
        }
    }

    @Suite struct SharedMemory {
        /// A size that no other segment of this process has.
        private static let size = PixelSize(width: 643, height: 487)

        /// The modes of this process's segments of that size, as listed by the system.
        private func modes() throws -> [String] {
            let list = try String(contentsOfFile: "/proc/sysvipc/shm", encoding: .utf8)
            var modes: [String] = []
            for line in list.split(separator: "\n").dropFirst() {
                // Key, id, mode, size, creator, …
                let columns = line.split(separator: " ")
                guard columns.count > 4, Int(columns[4]) == Int(getpid()), let size = Int(columns[3]),
                    size / 4096 == (Self.size.area * 4) / 4096
                else { continue }
                modes.append(String(columns[2]))
            }
            return modes
        }

        private func record() throws {
            var scene = try X11Scene(width: Self.size.width, height: Self.size.height)
            let recording = X11Recording(try X11Source(scene.options()), holdsPictures: true)
            #expect(recording.wait { !$0.isEmpty })
            scene.paint(PixelRect(x: 10, y: 10, width: 10, height: 10), 0xff_ffff)
            #expect(recording.wait { $0.count == 2 })
            // 0600, and marked for removal with the last detach (SHM_DEST, 01000). A segment that was made a moment ago is
            // marked once the server has attached it.
            var seen = try modes()
            for _ in 0..<100 where !seen.allSatisfy({ $0 == "1600" }) {
                #expect(seen.allSatisfy { $0.hasSuffix("600") })
                Thread.sleep(forTimeInterval: 0.1)
                seen = try modes()
            }
            #expect(seen.count >= 2 && seen.allSatisfy { $0 == "1600" }, "\(seen)")
            recording.stop()
        }

        @Test func segmentsArePrivateAndFreedWithTheSource() throws {
            try record()
            // The server detaches when it notices that the connection has ended.
            for _ in 0..<100 where try !modes().isEmpty { Thread.sleep(forTimeInterval: 0.1) }
            #expect(try modes() == [])
        }
    }
}
