import BeamClock
import BeamMedia
import CLateLibraries
import CPulse
import Glibc

/// Asks the sound server how long what this process plays is still under way. Used by one thread.
final class PulseLatency {
    private enum Answer {
        case waiting
        /// Nil: the server knows no stream of this process, or not its latency (pipewire-pulse).
        case queued(Duration?)
    }

    private let loop: PulseLoop
    private var connection: PulseConnection?
    private var answer = Answer.waiting
    private var isAsking = false
    private let process = String(getpid())

    /// Nil if libpulse can't be used.
    init?() {
        guard (try? Pulse.load()) != nil, let loop = PulseLoop() else { return nil }
        self.loop = loop
    }

    /// What is queued between this process and the loudspeaker, and when that was so; nil if the server doesn't know.
    /// Waits for the server, at most for `timeout`; an answer that is later is thrown away.
    func ask(timeout: Duration) -> (queued: Duration, time: MediaTime)? {
        let deadline = MediaTime.now + timeout
        if connection == nil || isAsking { connection = PulseConnection(loop, server: nil) }
        isAsking = false
        guard let connection else { return nil }
        while connection.state == .connecting, MediaTime.now < deadline { loop.turn(until: deadline) }
        guard connection.state == .ready else {
            self.connection = nil
            return nil
        }
        answer = .waiting
        var found: Duration?
        let begin = MediaTime.now
        isAsking = true
        guard
            let operation = pa_context_get_sink_input_info_list(
                connection.context,
                { _, info, isLast, userdata in
                    guard let userdata else { return }
                    // It is alive: it ends the connection before it is freed.
                    Unmanaged<PulseLatency>.fromOpaque(userdata).takeUnretainedValue().hear(info?.pointee, isLast != 0)
                }, Unmanaged.passUnretained(self).toOpaque())
        else { return nil }
        pa_operation_unref(operation)
        while isAsking, connection.state == .ready, MediaTime.now < deadline { loop.turn(until: deadline) }
        let end = MediaTime.now
        if case .queued(let duration) = answer { found = duration }
        guard !isAsking, let found else { return nil }
        return (found, begin + (end - begin) / 2)
    }

    private func hear(_ info: pa_sink_input_info?, _ isLast: Bool) {
        if let info, let properties = info.proplist,
            PulseText.name(pa_proplist_gets(properties, PA_PROP_APPLICATION_PROCESS_ID)) == process
        {
            let microseconds = info.buffer_usec.addingReportingOverflow(info.sink_usec)
            // pipewire-pulse says 0.
            if !microseconds.overflow, (1...10_000_000).contains(microseconds.partialValue) {
                answer = .queued(.microseconds(Int64(microseconds.partialValue)))
            }
        }
        if isLast { isAsking = false }
    }
}
