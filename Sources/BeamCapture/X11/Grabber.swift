import BeamMedia
import CXCB
import Glibc

/// Grabs pixels from the X server into frames: sends all requests, then waits once for all replies.
final class Grabber {
    private let connection: XConnection
    /// True: through shared memory. False: through the connection.
    let isShared: Bool
    /// Shared memory for pieces that are copied into the frame afterwards.
    private var scratch: SharedSegment?

    private enum Step {
        case inPlace(sequence: UInt32)
        case throughScratch(sequence: UInt32, Piece, offset: Int)
        case throughConnection(sequence: UInt32, Piece)
    }

    /// A rectangle of the picture that is copied into the frame.
    private struct Piece {
        var rect: PixelRect
        var drawable: xcb_drawable_t
        /// The picture's top left pixel, in `drawable`'s coordinates.
        var origin: (x: Int, y: Int)
        var layout: PixelLayout
        var isBlended = false

        var byteCount: Int { layout.stride(width: rect.width) * rect.height }

        func copy(from source: UnsafeRawPointer, into frame: Frame) {
            let destination = frame.pixel(x: rect.x, y: rect.y)
            if isBlended {
                layout.blend(source, size: rect.size, over: destination, stride: frame.stride)
            } else {
                layout.copy(source, size: rect.size, to: destination, stride: frame.stride)
            }
        }
    }

    private var steps: [Step] = []
    private var scratchUsed = 0

    init(_ connection: XConnection, isShared: Bool) {
        self.connection = connection
        self.isShared = isShared
    }

    /// Why a grab has failed.
    enum Failure: Error {
        case x(XFailure)
        case noMemory(errno: CInt)
        /// What is shared has gone meanwhile.
        case area(AreaFailure)

        init(_ failure: SharedSegment.Failure) {
            switch failure {
            case .noMemory(let number): self = .noMemory(errno: number)
            case .notAttached(.refused): self = .noMemory(errno: ENOMEM)
            case .notAttached(let failure): self = .x(failure)
            }
        }
    }

    /// Memory for a frame that this grabber can write to.
    func allocate(_ byteCount: Int) throws(Failure) -> any PixelMemory {
        guard isShared else { return HeapMemory(byteCount: byteCount) }
        do throws(SharedSegment.Failure) {
            return try SharedSegment(connection, byteCount: byteCount)
        } catch {
            throw Failure(error)
        }
    }

    /// Fetches `region` of the picture into `frame`. After an error the frame holds a mix of old and new pixels.
    ///
    /// - Parameter afterRequests: may send a query; the server answers it after it has written all the pixels.
    func grab(
        _ region: DamageRegion, of target: CaptureTarget, into frame: Frame, afterRequests: () -> Void
    ) throws(Failure) {
        let segment = target.layout.isBGRX ? frame.memory as? SharedSegment : nil
        let plan = GrabPlan(region, size: target.size, readable: target.readable, inPlace: segment != nil)
        // Every reply has to be taken, otherwise libxcb keeps it in memory. After an error the steps are dropped.
        defer { steps.removeAll(keepingCapacity: true) }
        scratchUsed = 0
        if let segment {
            for band in plan.bands {
                let cookie = getImage(target.drawable, target.origin, band, into: segment, at: band.y * frame.stride)
                steps.append(.inPlace(sequence: cookie))
            }
        }
        for rect in plan.pieces {
            let piece = Piece(rect: rect, drawable: target.drawable, origin: target.origin, layout: target.layout)
            try request(piece, of: target, frame)
        }
        if !target.layers.isEmpty {
            // Apart from each other, so that nothing is blended twice.
            let fetched = (plan.bands + plan.pieces).disjoint
            for layer in target.layers {
                for part in layer.shape {
                    for rect in fetched.map({ $0.intersection(part) }) where !rect.isEmpty {
                        let piece = Piece(
                            rect: rect, drawable: layer.pixels.pixmap.id, origin: (-layer.frame.x, -layer.frame.y),
                            layout: layer.pixels.layout, isBlended: layer.isBlended && layer.pixels.layout.isBGRX)
                        try request(piece, of: target, frame)
                    }
                }
            }
        }
        afterRequests()
        try finish(frame)
    }

    private func request(_ piece: Piece, of target: CaptureTarget, _ frame: Frame) throws(Failure) {
        guard isShared else { return requestPlain(piece) }
        let bytes = piece.byteCount
        if scratchUsed + bytes > scratch?.byteCount ?? 0 {
            // Earlier pieces have to be copied out of the scratch memory before it is reused.
            try finish(frame)
            try growScratch(to: bytes, target: target)
        }
        guard let scratch else { return }
        let cookie = getImage(piece.drawable, piece.origin, piece.rect, into: scratch, at: scratchUsed)
        steps.append(.throughScratch(sequence: cookie, piece, offset: scratchUsed))
        scratchUsed += (bytes + 63) / 64 * 64
    }

    private func growScratch(to bytes: Int, target: CaptureTarget) throws(Failure) {
        scratchUsed = 0
        guard scratch?.byteCount ?? 0 < bytes else { return }
        // Sized for the largest possible piece, so that this happens once per picture size.
        let largest = target.layout.stride(width: target.size.width) * target.size.height
        let share = target.layout.isBGRX && target.isWhollyReadable ? largest / 2 + 4096 : largest
        scratch = nil
        do throws(SharedSegment.Failure) {
            scratch = try SharedSegment(connection, byteCount: max(bytes, share))
        } catch {
            throw Failure(error)
        }
    }

    private func getImage(
        _ drawable: xcb_drawable_t, _ origin: (x: Int, y: Int), _ rect: PixelRect, into segment: SharedSegment,
        at offset: Int
    ) -> UInt32 {
        xcb_shm_get_image(
            connection.raw, drawable, Int16(clamping: origin.x + rect.x), Int16(clamping: origin.y + rect.y),
            UInt16(clamping: rect.width), UInt16(clamping: rect.height), ~0,
            UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), segment.id, UInt32(offset)
        ).sequence
    }

    private func requestPlain(_ piece: Piece) {
        let cookie = xcb_get_image(
            connection.raw, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), piece.drawable,
            Int16(clamping: piece.origin.x + piece.rect.x), Int16(clamping: piece.origin.y + piece.rect.y),
            UInt16(clamping: piece.rect.width), UInt16(clamping: piece.rect.height), ~0)
        steps.append(.throughConnection(sequence: cookie.sequence, piece))
    }

    /// Waits for all replies and copies pieces to their place. Continues after an error, so that every reply is taken.
    private func finish(_ frame: Frame) throws(Failure) {
        var failure: XFailure?
        for step in steps {
            do throws(XFailure) {
                try finish(step, frame)
            } catch {
                if failure == nil || error == .connectionLost { failure = error }
            }
        }
        steps.removeAll(keepingCapacity: true)
        if let failure { throw .x(failure) }
    }

    private func finish(_ step: Step, _ frame: Frame) throws(XFailure) {
        switch step {
        case .inPlace(let sequence):
            _ = try connection.reply(sequence, as: xcb_shm_get_image_reply_t.self)
        case .throughScratch(let sequence, let piece, let offset):
            _ = try connection.reply(sequence, as: xcb_shm_get_image_reply_t.self)
            guard let scratch else { return }
            piece.copy(from: scratch.base + offset, into: frame)
        case .throughConnection(let sequence, let piece):
            let reply = try connection.reply(sequence, as: xcb_get_image_reply_t.self)
            guard Int(xcb_get_image_data_length(reply.pointer)) >= piece.byteCount,
                let data = xcb_get_image_data(reply.pointer)
            else { throw .refused(code: UInt8(XCB_LENGTH)) }
            piece.copy(from: data, into: frame)
        }
    }
}
