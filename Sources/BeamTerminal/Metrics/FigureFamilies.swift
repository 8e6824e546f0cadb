import BeamMetrics

/// Every metric, with its description. The page *Metrics* lists them, and a test compares it with this.
enum FigureFamilies {
    static var all: [MetricFamily] {
        let groups = [program, host, hostDetails, viewer, watch, watchSound, room]
        return groups.flatMap { $0 } + ProcessFigures.families
    }

    private static let program = [
        MetricFamily("beamroom_build_info", .gauge, "Always 1: the version, its commit, and the command that runs.")
    ]

    /// Of a host, a relay, and a room's member that shares.
    private static let host = [
        MetricFamily("beamroom_host_viewers", .gauge, "Viewers that are let in."),
        MetricFamily("beamroom_host_watching_viewers", .gauge, "Viewers that get the stream."),
        MetricFamily(
            "beamroom_host_unlisted_viewers", .gauge, "Viewers without metrics of their own: too many, or at gateways."),
        MetricFamily("beamroom_host_captured_frames_total", .counter, "Pictures that were captured."),
        MetricFamily("beamroom_host_encoded_frames_total", .counter, "Frames of layer 0 that were encoded."),
        MetricFamily(
            "beamroom_host_replaced_frames_total", .counter, "Pictures replaced by newer ones before they were encoded."
        ),
        MetricFamily("beamroom_host_sent_frames_total", .counter, "Frames sent; one to two viewers counts once."),
        MetricFamily("beamroom_host_sent_keyframes_total", .counter, "Keyframes sent; one to two viewers counts once."),
        MetricFamily("beamroom_host_dropped_frames_total", .counter, "Frames dropped before they were sent."),
        MetricFamily("beamroom_host_sent_datagrams_total", .counter, "Datagrams sent to all viewers."),
        MetricFamily("beamroom_host_sent_bytes_total", .counter, "Bytes sent to all viewers, in datagrams."),
        MetricFamily("beamroom_host_retransmitted_datagrams_total", .counter, "Datagrams sent again."),
        MetricFamily("beamroom_host_parity_datagrams_total", .counter, "Datagrams of parity sent."),
        MetricFamily(
            "beamroom_host_refused_datagrams_total", .counter,
            "Datagrams received that no viewer had sealed, or that were replayed or damaged."),
        MetricFamily("beamroom_host_keyframe_requests_total", .counter, "Keyframes that viewers asked for."),
    ]

    private static let hostDetails = [
        MetricFamily("beamroom_host_sound_packets_total", .counter, "Packets of sound made, of 10 ms each."),
        MetricFamily(
            "beamroom_host_sent_sound_packets_total", .counter,
            "Packets of sound sent; one to two viewers counts twice."),
        MetricFamily("beamroom_host_retransmitted_sound_packets_total", .counter, "Packets of sound sent again."),
        MetricFamily("beamroom_host_recorded_frames_total", .counter, "Frames written into the recording."),
        MetricFamily("beamroom_host_unrecorded_frames_total", .counter, "Frames that the recording lacks."),
        MetricFamily(
            "beamroom_host_path_bytes_per_second", .gauge, "What the slowest path carries; absent while none limits."),
        MetricFamily("beamroom_host_picture_width_pixels", .gauge, "Width of what is shared."),
        MetricFamily("beamroom_host_picture_height_pixels", .gauge, "Height of what is shared."),
        MetricFamily(
            "beamroom_host_shedding_level", .gauge,
            "What is sent less of by an overloaded machine: 0 nothing, 1 bit rate, 2 also frames, 3 also nobody is let in."
        ),
        MetricFamily("beamroom_host_layer_limit_bytes_per_second", .gauge, "Limit of the layer's rate."),
        MetricFamily("beamroom_host_layer_limit_frames_per_second", .gauge, "Limit of the layer's frame rate."),
        MetricFamily("beamroom_host_layer_quantiser", .gauge, "The last frame's quantiser, 0 to 51."),
        MetricFamily(
            "beamroom_host_stage_seconds", .summary,
            "How long frames took: capture until encoding began, encode. Quantiles of the last second."),
        MetricFamily("beamroom_host_gateway_viewers", .gauge, "Viewers of a gateway, which is named without its path."),
    ]

    /// Of each viewer of a host.
    private static let viewer = [
        MetricFamily("beamroom_viewer_watching", .gauge, "1 if the viewer gets the stream."),
        MetricFamily("beamroom_viewer_encrypted", .gauge, "1 if the viewer's stream is encrypted."),
        MetricFamily("beamroom_viewer_browser", .gauge, "1 if the viewer is a browser."),
        MetricFamily("beamroom_viewer_reduced", .gauge, "1 if the viewer gets the reduced layer."),
        MetricFamily("beamroom_viewer_connected_seconds", .gauge, "Time since the viewer was let in."),
        MetricFamily("beamroom_viewer_sent_frames_total", .counter, "Frames sent to the viewer."),
        MetricFamily("beamroom_viewer_sent_keyframes_total", .counter, "Keyframes sent to the viewer."),
        MetricFamily("beamroom_viewer_skipped_frames_total", .counter, "Frames left out for being late."),
        MetricFamily("beamroom_viewer_sent_datagrams_total", .counter, "Datagrams sent to the viewer."),
        MetricFamily("beamroom_viewer_sent_bytes_total", .counter, "Bytes sent to the viewer, in datagrams."),
        MetricFamily("beamroom_viewer_retransmitted_datagrams_total", .counter, "Datagrams sent to the viewer again."),
        MetricFamily(
            "beamroom_viewer_loss_ratio", .gauge,
            "Share of the viewer's datagrams lost before recovery, in about the last second."),
        MetricFamily("beamroom_viewer_round_trip_seconds", .gauge, "Round trip to the viewer, smoothed."),
        MetricFamily(
            "beamroom_viewer_path_bytes_per_second", .gauge,
            "What the viewer's path carries; absent while that doesn't limit."),
    ]

    /// Of what is watched.
    private static let watch = [
        MetricFamily("beamroom_watch_datagrams_total", .counter, "Datagrams received."),
        MetricFamily("beamroom_watch_bytes_total", .counter, "Bytes received, in datagrams."),
        MetricFamily(
            "beamroom_watch_malformed_datagrams_total", .counter, "Datagrams that were malformed, forged or damaged."),
        MetricFamily("beamroom_watch_duplicate_datagrams_total", .counter, "Datagrams that came twice or too late."),
        MetricFamily(
            "beamroom_watch_missed_parts_total", .counter, "Parts of frames missing when a later one had come."),
        MetricFamily("beamroom_watch_retransmitted_parts_total", .counter, "Parts recovered by a request."),
        MetricFamily("beamroom_watch_repaired_parts_total", .counter, "Parts recovered by parity."),
        MetricFamily("beamroom_watch_lost_parts_total", .counter, "Parts that never came."),
        MetricFamily("beamroom_watch_frames_total", .counter, "Frames given to the decoder."),
        MetricFamily("beamroom_watch_keyframes_total", .counter, "Keyframes given to the decoder."),
        MetricFamily("beamroom_watch_dropped_frames_total", .counter, "Frames that came and couldn't be decoded."),
        MetricFamily(
            "beamroom_watch_skipped_frames_total", .counter,
            "Disposable frames that the host left out, or that were lost."),
        MetricFamily("beamroom_watch_requested_keyframes_total", .counter, "Keyframes that this viewer asked for."),
        MetricFamily("beamroom_watch_decoded_frames_total", .counter, "Pictures decoded."),
        MetricFamily("beamroom_watch_shown_frames_total", .counter, "Pictures shown in the window."),
        MetricFamily(
            "beamroom_watch_replaced_frames_total", .counter, "Pictures replaced by newer ones before they were shown."),
        MetricFamily("beamroom_watch_round_trip_seconds", .gauge, "Round trip to the host."),
        MetricFamily(
            "beamroom_watch_clock_error_seconds", .gauge,
            "Error of the host's clock at most, and so of its stages' times."),
        MetricFamily("beamroom_watch_playout_delay_seconds", .gauge, "How long frames wait to be in time."),
        MetricFamily("beamroom_watch_path_bytes_per_second", .gauge, "What the path carries, by the host's estimate."),
        MetricFamily("beamroom_watch_used_bytes_per_second", .gauge, "The rate at which the host sends."),
        MetricFamily("beamroom_watch_picture_width_pixels", .gauge, "Width of the picture."),
        MetricFamily("beamroom_watch_picture_height_pixels", .gauge, "Height of the picture."),
        MetricFamily(
            "beamroom_watch_stage_seconds", .summary,
            "How long frames took, by stage and for spans of them. Quantiles of the last second."),
    ]

    private static let watchSound = [
        MetricFamily("beamroom_watch_sound_packets_total", .counter, "Packets of sound received."),
        MetricFamily(
            "beamroom_watch_sound_missed_packets_total", .counter,
            "Packets of sound missing when a later one had come, also if they were merely late."),
        MetricFamily("beamroom_watch_sound_recovered_packets_total", .counter, "Packets of sound recovered."),
        MetricFamily("beamroom_watch_sound_lost_packets_total", .counter, "Packets of sound that never came."),
        MetricFamily(
            "beamroom_watch_sound_concealed_seconds_total", .counter, "Sound that was made up for what hadn't come."),
        MetricFamily(
            "beamroom_watch_sound_underruns_total", .counter,
            "How often there was nothing to play in the middle of sound."),
        MetricFamily("beamroom_watch_sound_buffer_seconds", .gauge, "How long packets of sound wait."),
        MetricFamily(
            "beamroom_watch_sound_latency_seconds", .gauge,
            "From when sound is heard at the host until it is heard here."),
    ]

    private static let room = [
        MetricFamily("beamroom_room_members", .gauge, "Members that are here, this device included."),
        MetricFamily("beamroom_room_sharing_members", .gauge, "Members that share their screens."),
        MetricFamily("beamroom_room_browsers", .gauge, "Browsers that are let in at this device."),
    ]
}
