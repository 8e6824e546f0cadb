import BeamMedia
import BeamSession
import BeamTerminal
import BeamTrust
import BeamViewer
import BeamWire

/// `beamroom share --to`: shows what is shared at a receiver. It is found, and has proved itself, before anything is
/// captured.
struct SendingShare: Sendable {
    let viewer: Viewer
    let reporter: SendingReporter
    let receiver: SendingReporter.Receiver

    /// Waits for the receiver and the person. Nil: the program is to end.
    ///
    /// - Parameters:
    ///   - name: this machine's, as the receiver reads it.
    ///   - canAsk: somebody can type the code.
    init?(
        _ context: CommandContext, _ options: SendingOptions, _ target: WatchTarget, terminal: TerminalQuestions,
        name: String, once: Bool, canAsk: Bool
    ) throws {
        let code = try options.toCodeFile.map { path throws in
            try CodeFile(path: path).read { context.latch.current == nil }
        }
        let trust = ViewerOptions.Trust(
            store: try TrustStore(), deviceName: name, code: code, asksForCode: canAsk, remembersNewHosts: !once)
        var viewing = ViewerOptions(target: Self.target(target), trust: trust)
        viewing.isAtReceiver = true
        viewing.usesBluetooth = false
        if let doubt = target.doubt { context.say(doubt) }
        let reporter = SendingReporter(context, desk: QuestionDesk(terminal))
        let viewer = try Viewer(viewing) { reporter.handle($0) }
        (self.reporter, self.viewer) = (reporter, viewer)
        guard let receiver = reporter.seek(viewer) else {
            viewer.stop()
            return nil
        }
        self.receiver = receiver
    }

    private static func target(_ target: WatchTarget) -> ViewerOptions.Target {
        switch target.kind {
        case .endpoint(let endpoint): .endpoint(endpoint)
        case .name(let name, let address): .name(name, address: address)
        }
    }

    /// About the host of this share.
    func handle(_ notice: HostEvent) {
        if case .expectedGuest(receiver.device, let presence) = notice { reporter.handle(presence) }
    }
}
