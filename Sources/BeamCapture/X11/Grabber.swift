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
        case throughScratch(sequence: UInt32, rect: PixelRect, offset: Int)
        case throughConnection(sequence: UInt32, rect: PixelRect)
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
            for band in plan.bands { request(band, of: target, into: segment, at: band.y * frame.stride, .inPlace) }
        }
        for piece in plan.pieces {
            guard isShared else {
                requestPlain(piece, of: target)
                continue
            }
            let bytes = target.layout.stride(width: piece.width) * piece.height
            if scratchUsed + bytes > scratch?.byteCount ?? 0 {
                // Earlier pieces have to be copied out of the scratch memory before it is reused.
                try finish(target, frame)
                try growScratch(to: bytes, target: target)
            }
            guard let scratch else { continue }
            request(piece, of: target, into: scratch, at: scratchUsed, .throughScratch)
            scratchUsed += (bytes + 63) / 64 * 64
        }
        afterRequests()
        try finish(target, frame)
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

    private enum Way { case inPlace, throughScratch }

    private func request(
        _ rect: PixelRect, of target: CaptureTarget, into segment: SharedSegment, at offset: Int, _ way: Way
    ) {
        let cookie = xcb_shm_get_image(
            connection.raw, target.drawable, Int16(clamping: target.origin.x + rect.x),
            Int16(clamping: target.origin.y + rect.y), UInt16(clamping: rect.width), UInt16(clamping: rect.height), ~0,
            UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), segment.id, UInt32(offset))
        switch way {
        case .inPlace: steps.append(.inPlace(sequence: cookie.sequence))
        case .throughScratch: steps.append(.throughScratch(sequence: cookie.sequence, rect: rect, offset: offset))
        }
    }

    private func requestPlain(_ rect: PixelRect, of target: CaptureTarget) {
        let cookie = xcb_get_image(
            connection.raw, UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue), target.drawable,
            Int16(clamping: target.origin.x + rect.x), Int16(clamping: target.origin.y + rect.y),
            UInt16(clamping: rect.width), UInt16(clamping: rect.height), ~0)
        steps.append(.throughConnection(sequence: cookie.sequence, rect: rect))
    }

    /// Waits for all replies and copies pieces to their place. Continues after an error, so that every reply is taken.
    private func finish(_ target: CaptureTarget, _ frame: Frame) throws(Failure) {
        var failure: XFailure?
        for step in steps {
            do throws(XFailure) {
                try finish(step, target, frame)
            } catch {
                if failure == nil || error == .connectionLost { failure = error }
            }
        }
        steps.removeAll(keepingCapacity: true)
        if let failure { throw .x(failure) }
    }

    private func finish(_ step: Step, _ target: CaptureTarget, _ frame: Frame) throws(XFailure) {
        switch step {
        case .inPlace(let sequence):
            _ = try connection.reply(sequence, as: xcb_shm_get_image_reply_t.self)
        case .throughScratch(let sequence, let rect, let offset):
            _ = try connection.reply(sequence, as: xcb_shm_get_image_reply_t.self)
            guard let scratch else { return }
            target.layout.copy(
                scratch.base + offset, size: rect.size, to: frame.pixel(x: rect.x, y: rect.y), stride: frame.stride)
        case .throughConnection(let sequence, let rect):
            let reply = try connection.reply(sequence, as: xcb_get_image_reply_t.self)
            guard
                Int(xcb_get_image_data_length(reply.pointer)) >= target.layout.stride(width: rect.width) * rect.height,
                let data = xcb_get_image_data(reply.pointer)
            else { throw .refused(code: UInt8(XCB_LENGTH)) }
            target.layout.copy(data, size: rect.size, to: frame.pixel(x: rect.x, y: rect.y), stride: frame.stride)
        }
    }
}
