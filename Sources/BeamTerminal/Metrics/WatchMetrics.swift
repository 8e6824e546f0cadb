import BeamMedia
import BeamMetrics
import BeamSession
import BeamViewer

extension MetricSet {
    /// What is watched.
    func note(_ report: ViewerReport) {
        noteArrival(report.session)
        if !report.isPassedOn {
            count("beamroom_watch_decoded_frames_total", report.decoded)
            count("beamroom_watch_shown_frames_total", report.shown)
            count("beamroom_watch_replaced_frames_total", report.replaced)
        }
        set("beamroom_watch_picture_width_pixels", report.size.map { Double($0.width) })
        set("beamroom_watch_picture_height_pixels", report.size.map { Double($0.height) })
        for span in FrameSpan.allCases {
            add("beamroom_watch_stage_seconds", report.times[span], [("stage", span.rawValue)])
        }
        if let sound = report.sound { note(sound, report.session.sound) }
    }

    private func noteArrival(_ session: ViewerStatistics) {
        count("beamroom_watch_datagrams_total", session.datagrams)
        count("beamroom_watch_bytes_total", session.bytes)
        count("beamroom_watch_malformed_datagrams_total", session.malformed)
        count("beamroom_watch_duplicate_datagrams_total", session.duplicates)
        count("beamroom_watch_missed_parts_total", session.missed)
        count("beamroom_watch_retransmitted_parts_total", session.recovered)
        count("beamroom_watch_repaired_parts_total", session.reconstructed)
        count("beamroom_watch_lost_parts_total", session.lost)
        count("beamroom_watch_frames_total", session.frames)
        count("beamroom_watch_keyframes_total", session.keyframes)
        count("beamroom_watch_dropped_frames_total", session.dropped)
        count("beamroom_watch_skipped_frames_total", session.skipped)
        count("beamroom_watch_requested_keyframes_total", session.keyframesRequested)
        set("beamroom_watch_round_trip_seconds", session.roundTrip?.inSeconds)
        set("beamroom_watch_clock_error_seconds", session.clockError?.inSeconds)
        set("beamroom_watch_playout_delay_seconds", session.buffer.inSeconds)
        set("beamroom_watch_path_bytes_per_second", session.estimatedRate.map { Double($0) / 8 })
        set("beamroom_watch_used_bytes_per_second", session.usedRate.map { Double($0) / 8 })
    }

    private func note(_ sound: SoundFigures, _ arrivals: SoundArrivals) {
        count("beamroom_watch_sound_packets_total", arrivals.packets)
        count("beamroom_watch_sound_missed_packets_total", arrivals.everMissed)
        count("beamroom_watch_sound_recovered_packets_total", arrivals.recovered)
        count("beamroom_watch_sound_lost_packets_total", UInt64(arrivals.lost))
        count(
            "beamroom_watch_sound_concealed_seconds_total",
            seconds: Double(sound.statistics.concealedSamples) / Double(SoundBlock.sampleRate))
        count("beamroom_watch_sound_underruns_total", sound.statistics.underruns)
        set("beamroom_watch_sound_buffer_seconds", sound.statistics.buffer.inSeconds)
        set("beamroom_watch_sound_latency_seconds", sound.statistics.latency?.inSeconds)
    }
}
