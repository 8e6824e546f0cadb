import CXCB
import Glibc

/// The extensions used for capturing, as far as the server has them. Each was told the version that this program uses.
struct XExtensions: Sendable {
    struct Extension: Sendable {
        let firstEvent: UInt8
        let majorOpcode: UInt8
    }

    let shm: Extension?
    let damage: Extension?
    let xfixes: Extension?
    /// 1.5 or later, for monitors.
    let randr: Extension?
    /// 0.2 or later, for naming a window's pixmap.
    let composite: Extension?
    /// 2.1 or later, whose raw events arrive even while another client has grabbed the pointer.
    let input: Extension?

    init(_ raw: OpaquePointer) {
        func present(_ id: UnsafeMutablePointer<xcb_extension_t>) -> Extension? {
            guard let data = xcb_get_extension_data(raw, id), data.pointee.present != 0 else { return nil }
            return Extension(firstEvent: data.pointee.first_event, majorOpcode: data.pointee.major_opcode)
        }
        /// The extension, if the server's version is at least `least`.
        func present<Reply>(
            _ id: UnsafeMutablePointer<xcb_extension_t>, least: (UInt32, UInt32),
            _ reply: () -> UnsafeMutablePointer<Reply>?,
            _ version: (Reply) -> (UInt32, UInt32)
        ) -> Extension? {
            guard let found = present(id), let answer = reply() else { return nil }
            defer { free(answer) }
            return version(answer.pointee) >= least ? found : nil
        }

        for id in [
            beam_xcb_shm(), beam_xcb_damage(), beam_xcb_xfixes(), beam_xcb_randr(), beam_xcb_composite(),
            beam_xcb_input(),
        ] {
            xcb_prefetch_extension_data(raw, id)
        }
        shm = beam_xcb_shm().flatMap { id in
            present(
                id, least: (1, 0), { xcb_shm_query_version_reply(raw, xcb_shm_query_version(raw), nil) },
                { (UInt32($0.major_version), UInt32($0.minor_version)) })
        }
        xfixes = beam_xcb_xfixes().flatMap { id in
            present(
                id, least: (2, 0), { xcb_xfixes_query_version_reply(raw, xcb_xfixes_query_version(raw, 4, 0), nil) },
                { ($0.major_version, $0.minor_version) })
        }
        damage = beam_xcb_damage().flatMap { id in
            present(
                id, least: (1, 0), { xcb_damage_query_version_reply(raw, xcb_damage_query_version(raw, 1, 1), nil) },
                { ($0.major_version, $0.minor_version) })
        }
        randr = beam_xcb_randr().flatMap { id in
            present(
                id, least: (1, 5), { xcb_randr_query_version_reply(raw, xcb_randr_query_version(raw, 1, 5), nil) },
                { ($0.major_version, $0.minor_version) })
        }
        composite = beam_xcb_composite().flatMap { id in
            present(
                id, least: (0, 2),
                { xcb_composite_query_version_reply(raw, xcb_composite_query_version(raw, 0, 4), nil) },
                { ($0.major_version, $0.minor_version) })
        }
        input = beam_xcb_input().flatMap { id in
            present(
                id, least: (2, 1),
                { xcb_input_xi_query_version_reply(raw, xcb_input_xi_query_version(raw, 2, 2), nil) },
                { (UInt32($0.major_version), UInt32($0.minor_version)) })
        }
    }
}
