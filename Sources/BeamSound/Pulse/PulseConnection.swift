import BeamMedia
import CLateLibraries
import CPulse

/// A connection to a sound server. Used on its loop's thread only; everything happens while the loop turns.
///
/// Doesn't start a server that isn't running.
final class PulseConnection {
    enum State: Equatable {
        case connecting
        case ready
        case failed(reason: String)
    }

    private(set) var state = State.connecting
    /// Something has changed at the server that may concern its list of devices.
    var hasChanges = true
    /// The answer to the last `askDevices`; nil until it has come.
    private(set) var devices: PulseDevices?
    private(set) var isAsking = false

    let context: OpaquePointer
    /// It must outlive the context.
    private let loop: PulseLoop
    /// What has come of the answer.
    private var answer = PulseDevices()

    /// - Parameter server: its address; nil: where libpulse looks for it (PULSE_SERVER and so on).
    init?(_ loop: PulseLoop, server: String?) {
        guard let api = loop.api, let properties = pa_proplist_new() else { return nil }
        defer { pa_proplist_free(properties) }
        _ = pa_proplist_sets(properties, PA_PROP_APPLICATION_NAME, "BeamRoom")
        _ = pa_proplist_sets(properties, PA_PROP_APPLICATION_ICON_NAME, "video-display")
        PulseProperties.add(to: properties)
        guard let context = pa_context_new_with_proplist(api, "BeamRoom", properties) else { return nil }
        self.context = context
        self.loop = loop
        pa_context_set_state_callback(
            context, { _, userdata in PulseConnection.of(userdata)?.stateChanged() }, pointer)
        pa_context_set_subscribe_callback(
            context, { _, _, _, userdata in PulseConnection.of(userdata)?.hasChanges = true }, pointer)
        if pa_context_connect(context, server, PA_CONTEXT_NOAUTOSPAWN, nil) < 0 { stateChanged() }
    }

    deinit {
        pa_context_set_state_callback(context, nil, nil)
        pa_context_set_subscribe_callback(context, nil, nil)
        // Cancels what is under way: no callback comes any more.
        pa_context_disconnect(context)
        pa_context_unref(context)
    }

    /// For callbacks, which come only while the connection lives.
    private var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> PulseConnection? {
        pointer.map { Unmanaged<PulseConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    private func stateChanged() {
        let state = pa_context_get_state(context)
        if state == PA_CONTEXT_READY {
            self.state = .ready
        } else if beam_pulse_is_context_good(state) == 0 {
            self.state = .failed(reason: Pulse.message(pa_context_errno(context)))
        }
    }

    /// From now on `hasChanges` tells of changed devices and defaults.
    func subscribe() {
        let kinds =
            PA_SUBSCRIPTION_MASK_SERVER.rawValue | PA_SUBSCRIPTION_MASK_SINK.rawValue
            | PA_SUBSCRIPTION_MASK_SOURCE.rawValue
        run(pa_context_subscribe(context, pa_subscription_mask_t(kinds), nil, nil))
    }

    /// Asks for the server's devices, for `devices`.
    func askDevices() {
        guard state == .ready, !isAsking else { return }
        hasChanges = false
        isAsking = true
        answer = PulseDevices()
        // Answered in this order.
        run(
            pa_context_get_server_info(
                context,
                { _, info, userdata in
                    guard let info, let connection = PulseConnection.of(userdata) else { return }
                    connection.answer.isPipeWire =
                        PulseText.shown(info.pointee.server_name)?.contains("PipeWire") ?? false
                    connection.answer.defaultSink = PulseText.name(info.pointee.default_sink_name)
                    connection.answer.defaultSource = PulseText.name(info.pointee.default_source_name)
                }, pointer))
        run(
            pa_context_get_source_info_list(
                context,
                { _, info, _, userdata in
                    if let info { PulseConnection.of(userdata)?.answer.add(info.pointee) }
                }, pointer))
        run(
            pa_context_get_sink_info_list(
                context,
                { _, info, isLast, userdata in
                    guard let connection = PulseConnection.of(userdata) else { return }
                    if let info { connection.answer.add(info.pointee) }
                    guard isLast != 0 else { return }
                    connection.isAsking = false
                    connection.devices = connection.answer
                }, pointer))
    }

    private func run(_ operation: OpaquePointer?) {
        // Without an operation there is no connection any more; `state` tells.
        if let operation { pa_operation_unref(operation) }
    }
}
