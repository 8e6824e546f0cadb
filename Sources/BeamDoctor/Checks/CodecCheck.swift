import BeamCodec
import BeamWeb

/// Whether video can be made and shown; each encoder and decoder is opened.
enum CodecCheck {
    static func encoder() -> Finding {
        let working = WorkingCodecs.encoders
        if let problem = WorkingCodecs.problem { return Finding("encoder", .broken, missing(problem)) }
        guard let first = working.first else {
            return Finding(
                "encoder", .broken,
                "No H.264 encoder opens, so nothing can be shared. Install libx264 (Debian's package libx264-164).")
        }
        guard first == WorkingCodecs.standardEncoder else {
            return Finding(
                "encoder", .improvable,
                "Only \(working.joined(separator: ", ")) opens. Of libx264 (Debian's package libx264-164), pictures leave sooner."
            )
        }
        return Finding(
            "encoder", .good,
            working.count == 1
                ? "libx264 opens. There is no hardware encoder, and none is needed up to 1920x1080."
                : "These open: \(working.joined(separator: ", ")).")
    }

    static func decoder() -> Finding {
        if let problem = WorkingCodecs.problem { return Finding("decoder", .broken, missing(problem)) }
        if let failure = WorkingCodecs.decoderFailure { return Finding("decoder", .broken, failure) }
        return Finding("decoder", .good, "These open: \(WorkingCodecs.decoders.joined(separator: ", ")).")
    }

    private static func missing(_ problem: String) -> String {
        "libavcodec can't be used: \(problem). Install it (Debian's package libavcodec59)."
    }

    /// What only `share --web` needs.
    static func browsers() -> Finding {
        guard let problem = PacketSupport.problem else {
            return Finding("browsers", .good, "Browsers can watch by http and by https (share --web).")
        }
        return Finding(
            "browsers", .improvable,
            "Browsers can watch by https only (share --web): \(problem). Install Debian's packages libssl3 and libsrtp2-1."
        )
    }
}
