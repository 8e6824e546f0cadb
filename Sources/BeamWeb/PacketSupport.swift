/// Whether browsers can be sent packets (WebRTC), which needs libraries that are loaded late.
public enum PacketSupport {
    /// What is missing, as the end of a sentence; nil: nothing.
    public static var problem: String? {
        do throws(MediaUnavailable) {
            _ = try DTLSIdentity()
            return nil
        } catch {
            return error.reason
        }
    }
}
