import BeamClock
import BeamMedia
import Foundation
import Synchronization

@testable import BeamWeb

/// Sends the pattern at 30 pictures a second, keyframes as they are asked for, until it is released.
final class Film: Sendable {
    private let isOver: Flag
    private let thread: StageThread

    convenience init(_ web: TestWeb, _ size: PixelSize) {
        let (server, told) = (web.server, web.told)
        self.init(size, told) { server.submit($0) }
    }

    init(_ size: PixelSize, _ told: Log<Told>, _ submit: @escaping @Sendable (EncodedFrame) -> Void) {
        let isOver = Flag()
        self.isOver = isOver
        thread = StageThread("film") {
            guard let pictures = try? CodedPictures(size) else { return }
            var asked = 0
            while !isOver.isSet {
                let count = told.all.count { if case .keyframe = $0 { true } else { false } }
                if let frame = try? pictures.next(keyframe: count > asked, time: .now) { submit(frame) }
                asked = count
                usleep(33_000)
            }
        }
    }

    deinit {
        isOver.set()
        thread.join()
    }
}

private final class Flag: Sendable {
    private let value = Mutex(false)
    var isSet: Bool { value.withLock { $0 } }
    func set() { value.withLock { $0 = true } }
}
