import BeamLibAV

/// Which encoders and decoders work on this machine; each is opened.
public enum WorkingCodecs {
    /// Why libavcodec can't be used; nil: it can.
    public static var problem: String? { LibAV.codecProblem }

    public static let standardEncoder = OpenedEncoder.standardName

    /// The H.264 encoders that open, libx264 first. Determined once.
    public static var encoders: [String] { EncoderProbe.working }

    /// The decoders that open, by their command-line names.
    public static var decoders: [String] { RenderDevices.workingDecoders() }

    /// Why the software decoder doesn't open, as a person-facing sentence; nil: it does.
    public static var decoderFailure: String? {
        do throws(CodecError) {
            _ = try SoftwareDecoder(threads: 1)
            return nil
        } catch {
            return "\(error)"
        }
    }
}
